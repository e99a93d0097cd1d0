"""Update the dependents of ended chains, a hundred per call.

The process that ends a chain with more dependents than that continues until all are updated. If it dies before that,
the next reap continues.
"""

from __future__ import annotations

from holdfast.stores.redis.verbs.script_call import ScriptCall, ScriptPlan
from holdfast.stores.redis.verbs.script_errors import pairs


def release() -> ScriptPlan[tuple[tuple[str, str], ...]]:
    """Continue until no dependent is left. Returns (id, type) of the jobs that became pending.

    Two processes may do this at once: each call updates the next dependents, and each dependent is updated once.
    """
    unblocked: tuple[tuple[str, str], ...] = ()
    more = True
    while more:
        ((unfinished, *released),) = yield [ScriptCall("release")]
        unblocked += pairs(released)
        more = unfinished == b"more"
    return unblocked
