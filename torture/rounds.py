"""One report for several runs: a long profile is many rounds, each with its own seed and store.

The evidence of a round is checked and deleted before the next round begins. So neither the files nor the memory of the
checker grow with the duration.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from torture.checker.verdict import MOST_SHOWN, Result, Verdict
from torture.recovery_times import Measured, spread
from torture.report import overall

Summary = dict[str, Any]
WORST = ("p50", "p99", "max")


def joined(summaries: list[Summary], measured: list[dict[str, Measured]]) -> Summary:
    """One report of all rounds: sums of counts, the worst of other values, recovery times over all rounds."""
    if len(summaries) == 1:
        return summaries[0]
    first = summaries[0]
    verdicts = [_verdict(summaries, number) for number in range(len(first["verdicts"]))]
    seconds = sum(each["seconds"] for each in summaries)
    load = _added(each["load"] for each in summaries)
    executions = _added(each["executions"] for each in summaries)
    completed = executions["jobs completed by one"]
    executions["starts per completed job"] = round(
        sum(each["executions"]["starts per completed job"] * each["executions"]["jobs completed by one"]
            for each in summaries) / completed, 3
    ) if completed else 0  # fmt: skip
    return first | {
        "rounds": len(summaries),
        "seconds": round(seconds, 1),
        "load": load | {"jobs a second": round(load["jobs"] / seconds, 1) if seconds else 0},
        "faults": _added(each["faults"] for each in summaries),
        "tried": _added(each["tried"] for each in summaries),
        "unharmed": [kind for kind in first["unharmed"] if all(kind in each["unharmed"] for each in summaries)],
        "excused": round(sum(each["excused"] * each["seconds"] for each in summaries) / seconds, 3) if seconds else 0,
        "failpoints": _added(each["failpoints"] for each in summaries),
        "not met": {
            who: [point for point in left if all(point in each["not met"].get(who, []) for each in summaries)]
            for who, left in first["not met"].items()
        },
        "races": _added(each["races"] for each in summaries),
        "recovery": {name: spread([each[name] for each in measured]) for name in measured[0]},
        "executions": executions,
        "leaks": _worst(each["leaks"] for each in summaries),
        "broke": _added(each["broke"] for each in summaries),
        "verdicts": verdicts,
        "verdict": overall(verdicts),
    }


def _verdict(summaries: list[Summary], place: int) -> Verdict:
    """Violated if one round violated it; OK if one round tested it."""
    each: list[tuple[int, Verdict]] = [(summary["seed"], summary["verdicts"][place]) for summary in summaries]
    results = {verdict.result for _, verdict in each}
    order = (Result.VIOLATED, Result.LOST, Result.OK, Result.VACUOUS, Result.NOT_APPLICABLE)
    first = each[0][1]
    shown = [f"seed {seed}: {violation}" for seed, verdict in each for violation in verdict.violations]
    counts = [verdict.counts for _, verdict in each]
    sums = _added({name: count for name, count in one.items() if not _is_worst(name)} for one in counts)
    worst = _worst({name: count for name, count in one.items() if _is_worst(name)} for one in counts)
    return Verdict(
        first.number,
        first.name,
        next(result for result in order if result in results),
        sum(verdict.opportunities for _, verdict in each),
        tuple(shown[:MOST_SHOWN]),
        sum(verdict.broken for _, verdict in each),
        first.reason,
        sums | worst,
    )


def _is_worst(name: str) -> bool:
    return name.endswith(WORST) or name.startswith("most")


def _added(counts: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Sums of nested counts."""
    total: dict[str, Any] = {}
    for each in counts:
        for name, value in each.items():
            if isinstance(value, dict):
                total[name] = _added([total.get(name, {}), cast("dict[str, Any]", value)])
            else:
                total[name] = round(total.get(name, 0) + value, 3)
    return total


def _worst(counts: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The largest of each number; of texts the first that is not empty."""
    total: dict[str, Any] = {}
    for each in counts:
        for name, value in each.items():
            before = total.get(name, value)
            total[name] = max(before, value) if isinstance(value, (int, float)) else before or value
    return total
