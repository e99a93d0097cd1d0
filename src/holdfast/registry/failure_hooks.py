"""Failure hooks: the type that `on_failure=` names, checked when it is declared, and stored with each job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.codec.annotations import name_of
from holdfast.core.details import FailureHook, write_hook, write_lanes
from holdfast.core.hooks import Failure

if TYPE_CHECKING:
    from holdfast.registry.job_type import AnyJobType


def check_hook(hook: AnyJobType) -> None:
    """TypeError if a type cannot be a failure hook: it must take exactly one parameter, a `Failure`.

    A store starts the chain of a hook, and it cannot call functions of the application. So everything that `bind` would
    compute from the arguments must be refused here.
    """
    signature = getattr(hook, "signature", None)
    if signature is None:
        raise TypeError(f"on_failure must be a job type, not {type(hook).__name__}")
    annotations = tuple(signature.annotations.values())
    if annotations != (Failure,):
        taken = ", ".join(f"{name}: {name_of(kind)}" for name, kind in signature.annotations.items())
        raise TypeError(f"on_failure={hook.name}: it must take exactly one parameter of type Failure, not ({taken})")
    if hook.blockers is not None:
        raise TypeError(f"on_failure={hook.name}: it declares blockers=, and a hook waits for no other chain")
    for limit in hook.limits:
        if limit.by is not None or getattr(limit, "weight", None) is not None:
            raise TypeError(
                f"on_failure={hook.name}: its limit {limit.name!r} uses by or weight, and the store that starts a hook "
                "cannot call them"
            )


def stored_hook(hook: AnyJobType | None) -> FailureHook | None:
    """A hook as it is stored with each job, with the hook of its own type."""
    if hook is None:
        return None
    (parameter,) = hook.signature.parameters
    return FailureHook(
        hook.name,
        parameter,
        priority=hook.priority,
        max_attempts=hook.attempt_limit,
        keep=hook.keep_micros,
        then=None if hook.failure_hook is None else write_hook(hook.failure_hook),
        hook_lanes=_stored_lanes(hook),
    )


def _stored_lanes(hook: AnyJobType) -> str | None:
    return None if not hook.limits else write_lanes(hook.job_lanes(hook.lanes_of({}), hook.priority))
