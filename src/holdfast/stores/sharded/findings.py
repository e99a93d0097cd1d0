"""What `doctor` finds on each shard, and chains and schedules that are on a shard where no call searches for them."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.core.record import ChainRecord
from holdfast.engine.operations import Examine, Filter, Finding, FoundSchedules, GetSchedules, ListChains
from holdfast.errors import StoreUnavailable
from holdfast.stores.sharded.plan import Plan
from holdfast.stores.sharded.routing import Routing

SUBJECT = "placement"
EXAMINED = 200
"""How many of the newest chains of a shard are compared with their places."""


def examine(routing: Routing, operation: Examine) -> Plan[list[Finding]]:
    """The findings of each shard, with its name. A shard that does not answer is a finding."""
    findings: list[Finding] = []
    answers = yield dict.fromkeys(routing.names, operation)
    for name, answer in answers.items():
        if isinstance(answer, StoreUnavailable):
            findings.append(Finding("error", f"{name}: store", str(answer)))
        elif isinstance(answer, Exception):
            raise answer
        else:
            findings += [Finding(each.level, f"{name}: {each.subject}", each.detail) for each in answer]
    up = [name for name, answer in answers.items() if not isinstance(answer, StoreUnavailable)]
    chains = yield dict.fromkeys(up, ListChains(Filter(), EXAMINED))
    schedules = yield dict.fromkeys(up, GetSchedules())
    for name in up:
        if not isinstance(chains[name], Exception) and not isinstance(schedules[name], Exception):
            findings.append(_placement(name, _misplaced(routing, name, chains[name], schedules[name])))
    return findings


def _misplaced(routing: Routing, shard: str, chains: Iterable[ChainRecord], schedules: FoundSchedules) -> list[str]:
    found: list[str] = []
    for chain in chains:
        first = chain.first
        by_key = shard if first.key is None else routing.of_key(first.type, first.key)
        if routing.of_id(first.id) != shard or by_key != shard:
            found.append(f"chain {first.id}")
    return found + [f"schedule {each.name}" for each in schedules.schedules if routing.of_schedule(each.name) != shard]


def _placement(shard: str, misplaced: list[str]) -> Finding:
    if not misplaced:
        return Finding("ok", f"{shard}: {SUBJECT}", "chains and schedules are where calls look for them")
    more = f" and {len(misplaced) - 3} more" if len(misplaced) > 3 else ""
    return Finding(
        "error",
        f"{shard}: {SUBJECT}",
        f"{', '.join(misplaced[:3])}{more} should be on another shard: the stores have exchanged names, or a shard was "
        "added before the others were drained",
    )
