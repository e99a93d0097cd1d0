"""Steps of a job: what the page of a chain shows of them, a retry from one of them, and messages to a chain."""

from __future__ import annotations

import json
from dataclasses import dataclass

from starlette.responses import Response

from holdfast.codec.codec import plain
from holdfast.core.job import Job
from holdfast.core.step_report import Step
from holdfast.dashboard.redaction import ShownText
from holdfast.dashboard.routing import post
from holdfast.dashboard.view import View
from holdfast.errors import HoldfastError, NotPermitted, StoreUnavailable

MOST_STEPS = 200


@dataclass(frozen=True, slots=True)
class ShownStep:
    """A step as the page shows it."""

    step: Step
    each: str
    result: ShownText | None
    error: str


async def shown_steps(view: View, job: Job) -> tuple[list[ShownStep], int]:
    """The newest steps of a job, in order of completion, and how many earlier ones are left out."""
    steps = await view.viewer.steps(job)
    shown = [
        ShownStep(
            step,
            "" if step.each is None else view.redaction.value(step.each).text,
            None if step.result is None or step.error is not None else view.redaction.value(step.result),
            view.redaction.error(step.error),
        )
        for step in steps[-MOST_STEPS:]
    ]
    return shown, max(0, len(steps) - MOST_STEPS)


async def send(view: View) -> Response:
    """Send a message to the chain of a job."""
    form = await view.form()
    back = form.get("next", "")
    try:
        value = plain(form.get("value", "").strip().encode("utf-8", "surrogatepass") or b"null")
        first = await view.operator.send(form.get("id", ""), form.get("name", "").strip(), value)
    except (StoreUnavailable, NotPermitted):
        raise
    except (HoldfastError, ValueError) as error:
        return view.back(back, f"The message was not sent: {error}", problem=True)
    if not first:
        return view.back(back, "This message was sent before, and its first value counts.", problem=True)
    return view.back(back, "The message is sent.")


async def retry_from_step(view: View) -> Response:
    """Retry a job from one of its steps."""
    form = await view.form()
    back, name = form.get("next", ""), form.get("step", "")
    try:
        await view.operator.retry(form.get("id", ""), from_step=name)
    except (StoreUnavailable, NotPermitted):
        raise
    except (HoldfastError, ValueError) as error:
        return view.back(back, str(error), problem=True)
    return view.back(back, f"The job is pending again, from the step {json.dumps(name)} on.")


ROUTES = [
    post("/change/send", send, role="operate"),
    post("/change/retry-from-step", retry_from_step, role="operate"),
]
