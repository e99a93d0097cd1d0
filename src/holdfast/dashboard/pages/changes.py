"""The changes of single jobs and types: retry, run now, cancel, delete, pause, resume."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.responses import Response

from holdfast.dashboard.operator import Operator
from holdfast.dashboard.routing import Handler, PageRoute, post
from holdfast.dashboard.view import View
from holdfast.errors import HoldfastError, NotPermitted, StoreUnavailable


def _change(
    act: Callable[[Operator, str], Awaitable[None]], field: str, notice: str, *, leaves: bool = False
) -> Handler:
    """A form with an id or a type. Afterwards the page `next` is shown; with `leaves` the job is no longer on it."""

    async def handler(view: View) -> Response:
        form = await view.form()
        target = view.url("/chains") if leaves else form.get("next", "")
        try:
            await act(view.operator, form.get(field, ""))
        except (StoreUnavailable, NotPermitted):
            raise
        except (HoldfastError, ValueError) as error:
            return view.back(form.get("next", ""), str(error), problem=True)
        return view.back(target, notice)

    return handler


ROUTES: list[PageRoute] = [
    post("/change/retry", _change(Operator.retry, "id", "The job is pending again."), role="operate"),
    post("/change/run-now", _change(Operator.run_now, "id", "The job is due now."), role="operate"),
    post("/change/skip", _change(Operator.skip, "id", "The jobs behind this one in its order run."), role="operate"),
    post("/change/cancel", _change(Operator.cancel, "id", "The chain is cancelled."), role="operate"),
    post("/change/delete", _change(Operator.delete, "id", "The chain is deleted.", leaves=True), role="admin"),
    post("/change/pause", _change(Operator.pause, "type", "The type is paused."), role="operate"),
    post("/change/resume", _change(Operator.resume, "type", "The type is resumed."), role="operate"),
]
