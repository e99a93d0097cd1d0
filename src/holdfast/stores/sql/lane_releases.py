"""Wake-ups for lanes that an operation outside of a worker has released, for the SQL stores."""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.stores.sql.lane_claims import LanePlan
from holdfast.stores.sql.plan import PlanContext, Statement


def announce_releases(context: PlanContext, sql: Mapping[str, str]) -> LanePlan[None]:
    """Wake all workers if lanes have changed: the jobs that wait for them may have any type.

    The next claim applies the changes. Without a wake-up it would come with the next poll.
    """
    ((released,),) = yield Statement(sql["lanes_released"])
    context.hints.anything |= bool(released)
