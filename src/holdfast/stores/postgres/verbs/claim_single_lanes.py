"""Claim one job of each of many ready tracks, in one round trip to the server.

This is the usual claim while many lanes have jobs. It needs no decision: each of the best ready tracks has one lane
with room, and there are as many tracks as slots. So `choose` would take the first job of each. The statements check
this. If it is not so, they claim nothing, and the claim uses the general statements.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.core.record import Record
from holdfast.stores.postgres.plan import Begin, Commit, Pipeline, Plan
from holdfast.stores.postgres.plan_context import PlanContext
from holdfast.stores.postgres.rows import SQL, record
from holdfast.stores.sql.lane_claims import CHANGES, PREFIX
from holdfast.stores.sql.lane_pass import Pass
from holdfast.stores.sql.plan import Statement

_LOCK_TIMEOUT = Statement(SQL["single_lanes_lock_timeout"])
_ADMIT = SQL["lanes_admit"]
_LOCK = SQL["single_lanes_lock"]
_CLAIM = SQL["single_lanes_claim"]


def claim_single_lanes(context: PlanContext, parameters: Mapping[str, Any], limit: int) -> Plan[list[Record]]:
    """Claim this many jobs, or none. `parameters` are those of the statement `claim`.

    Raises the error of a lock timeout if another claim locks a track of new jobs for long. The store then repeats the
    claim, with the general statements.
    """
    given = {**parameters, "limit": limit, "changes": CHANGES, "prefix": PREFIX}
    admission, lock, claim = Statement(_ADMIT, {"limit": CHANGES}), Statement(_LOCK, given), Statement(_CLAIM, given)
    # The first row is that of the lock timeout, the second that of the admission, the third that of the locks.
    try:
        _, (admitted, _), _, *claimed = yield Pipeline(
            [Begin(), _LOCK_TIMEOUT, admission, Commit(), Begin(), lock, claim, Commit()]
        )
    except Exception:
        context.scan_starts.single_lanes_failed()
        raise
    context.hints.due.update(admitted)
    if not claimed:
        context.scan_starts.single_lanes_failed()
        return []
    context.scan_starts.single_lanes_claimed()
    context.scan_starts.lanes_next = False
    context.hints.recorded |= claimed[0][-1]
    return sorted(map(record, claimed), key=lambda job: job.seq)


def may_be_alike(found: Pass, limit: int) -> bool:
    """Whether `claim_single_lanes` could have made this claim, as far as the general statements have seen."""
    choice = found.choice
    return (
        len(choice.taken) == limit > 0
        and not choice.parked
        and "rate" not in found.kinds
        and all(len(track.lanes) == 1 for track, _ in choice.taken)
    )
