"""Start the failure hooks of jobs that failed, in the transaction of the failure."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.core.lifecycle import hook_chain
from holdfast.core.record import Record
from holdfast.stores.postgres.plan import Plan
from holdfast.stores.postgres.plan_context import PlanContext
from holdfast.stores.postgres.verbs.insert import Inserted, insert


def start_hooks(context: PlanContext, failed: Iterable[Record]) -> Plan[None]:
    """Start the hook of each of these jobs that has one. The ids are new, so no existing chain is found."""
    hooks = [hook for job in failed if job.details is not None and (hook := hook_chain(job)) is not None]
    if hooks:
        yield from context.write_events()  # the event `failed` comes before the event `created` of the hook
        inserted = Inserted(*(yield insert(context, hooks))[0])
        context.hints.due.update(hook.type for hook in hooks)
        context.hints.recorded |= inserted.recorded
