"""Complete a job that waits for a completion from outside, such as an approval."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.responses import Response

from holdfast.codec.codec import plain
from holdfast.core.explanation import Explanation
from holdfast.dashboard.routing import post
from holdfast.dashboard.view import View
from holdfast.engine.audit_user import audit_of
from holdfast.engine.operations import Complete, Completion
from holdfast.errors import AlreadyCompleted, PayloadRefused


def waits_for_completion(explanation: Explanation | None) -> bool:
    """Whether no worker will run the job, because its type is declared without a handler."""
    return explanation is not None and any(reason.kind == "external" for reason in explanation.reasons)


async def complete(view: View) -> Response:
    """End the current job of a chain with an output."""
    form = await view.form()
    id = form.get("id", "")
    chain = await view.viewer.get_chain(id)
    if chain is None:
        raise HTTPException(404)
    back, job = form.get("next", ""), chain.job
    if job.id != form.get("job") or job.status.finished:
        return view.back(back, str(AlreadyCompleted(chain.id)), problem=True)
    if not waits_for_completion(await view.viewer.explain(job)):
        return view.back(back, "A worker runs jobs of this type, so it is not completed from here.", problem=True)
    known = view.settings.client.jobs.get(job.type)
    try:
        stored = form.get("output", "").strip().encode("utf-8", "surrogatepass")
        if known is None:
            output = view.settings.client.jobs.plain(plain(stored))
        else:
            output = known.encode_output(known.decode_output(stored))
    except (PayloadRefused, ValueError) as error:
        return view.back(back, f"This output is refused: {error}", problem=True)
    with view.operator.acting("operate", job.type) as client:
        operation = Complete(chain.id, job.id, (Completion(output=output),), audit=audit_of(None, "in the dashboard"))
        try:
            await client.store.perform(operation)
        except AlreadyCompleted as error:
            return view.back(back, str(error), problem=True)
    return view.back(back, "The job is completed.")


ROUTES = [post("/change/complete", complete, role="operate")]
