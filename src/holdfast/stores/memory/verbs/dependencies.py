"""Which chains wait for which, and the search for cycles among them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from holdfast.core.record import Record, Status
from holdfast.core.waiting_cycles import walk
from holdfast.engine.operations import GetWaiting, Waiting
from holdfast.errors import DependencyCycle
from holdfast.stores.memory.state import State


def get_waiting(state: State, op: GetWaiting) -> list[Waiting]:
    blocked = sorted((job for job in state.jobs.values() if job.status is Status.BLOCKED), key=lambda job: job.seq)
    return [Waiting(job.chain_id, state.blockers[job.id]) for job in blocked[: op.limit]]


def cycle(
    state: State, chain_id: str, after: Sequence[str], beside: Mapping[str, Sequence[str]]
) -> DependencyCycle | None:
    """The cycle that a job of this chain would close by waiting for `after`.

    `beside`: the chains that are created or retried in the same operation, with their blockers.
    """

    def waits_for(chain: str) -> Iterable[str]:
        if chain in beside:
            return beside[chain]
        last = state.need_chain(chain).last
        return state.blockers[last.id] if last.status is Status.BLOCKED else ()

    return walk(chain_id, after, waits_for).cycle


def check_retried(state: State, jobs: Iterable[Record]) -> None:
    """Raise DependencyCycle if one of these jobs would close a cycle when it is blocked again."""
    again = {job.chain_id: state.blockers[job.id] for job in jobs if job.open_blockers}
    for chain_id, after in again.items():
        if (found := cycle(state, chain_id, after, again)) is not None:
            raise found
