"""The report of a run: text for people, JSON for programs."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec

from torture.checker.transitions import is_claim, is_reap
from torture.checker.verdict import Result, Verdict
from torture.evidence import Evidence
from torture.losses import losses
from torture.recovery_times import recoveries


def summary(evidence: Evidence, verdicts: list[Verdict]) -> dict[str, Any]:
    """The content of a report."""
    facts = evidence.facts
    starts = evidence.called("start")
    seconds = (facts.ended - facts.begun) / 1e6
    ended = Counter(row.status for row in facts.rows)
    races = {
        "stale writes refused": sum(not note.facts["written"] for note in evidence.noted("settled")),
        "stale renewals and guards refused": len(evidence.noted("stale")),
        "reaped": sum(is_reap(change) for change in evidence.changes),
        "failpoints": len(evidence.noted("failpoint")),
    }
    return {
        "store": facts.store,
        "seed": facts.seed,
        "profile": facts.profile,
        "mutant": facts.mutant,
        "versions": facts.versions,
        "seconds": round(seconds, 1),
        "load": {
            "jobs a second": round(len(evidence.by_job) / seconds, 1) if seconds else 0,
            "starts": Counter(call.outcome for call in starts),
            "jobs": len(evidence.by_job),
            "claims": sum(is_claim(change) for change in evidence.changes),
            "changes": len(evidence.changes),
            "ended": ended,
            "operations": Counter(call.op for call in evidence.calls),
        },
        "faults": _faults(evidence, verdicts),
        "tried": Counter(note.facts["kind"] for note in evidence.noted("tried")),
        "unharmed": facts.unharmed,
        "excused": round(evidence.away(facts.begun, facts.ended) / 1e6 / seconds, 3) if seconds else 0,
        "failpoints": _points(evidence),
        "not met": facts.swept,
        "races": races,
        "recovery": recoveries(evidence),
        "executions": _executions(evidence),
        "losses": losses(evidence) if facts.durability else {},
        "durability": facts.durability,
        "leaks": facts.leaks | _growth(verdicts),
        "broke": Counter(note.facts["error"][:120] for note in evidence.noted("broke")),
        "verdicts": verdicts,
        "verdict": overall(verdicts),
    }


def overall(verdicts: list[Verdict]) -> str:
    results = {verdict.result for verdict in verdicts}
    if Result.VIOLATED in results:
        return "INVALID"
    if Result.LOST in results:
        return "LOST what its mode may lose"
    return "VALID, with vacuous lines" if Result.VACUOUS in results else "VALID"


def vacuous_lines(verdicts: list[Verdict]) -> list[str]:
    return [f"I{verdict.number}" for verdict in verdicts if verdict.result is Result.VACUOUS]


def as_json(summary: dict[str, Any]) -> bytes:
    return msgspec.json.format(msgspec.json.encode(summary), indent=2)


def as_text(summary: dict[str, Any]) -> str:
    """The report as text for a terminal."""
    versions = " ".join(f"{name} {version}" for name, version in summary["versions"].items())
    mutant = f"  mutant={summary['mutant']}" if summary["mutant"] else ""
    load = summary["load"]
    lines = [
        f"torture  store={summary['store']}{_mode(summary)}  seed={summary['seed']}  profile={summary['profile']}"
        f"{mutant}{_rounds(summary)}  {summary['seconds']} s  {versions}",
        f"load      starts {_list(load['starts'])}; {load['jobs']} jobs ({load['jobs a second']} a second), "
        f"{load['claims']} claims, {load['changes']} changes",
        f"asked     {_list(load['operations'])}",
        f"ended     {_list(load['ended'])}",
        f"faults    {_list(summary['faults'])}",
        f"excused   {summary['excused']:.0%} of the time as an outage of the store",
        f"races     {_list(summary['races'])}",
    ]
    lines += [f"tried     {_list(summary['tried'])} (without effect)"] if summary["tried"] else []
    lines += (
        [f"unharmed  by {', '.join(summary['unharmed'])}: planned, and never happened"] if summary["unharmed"] else []
    )
    for who, points in summary["failpoints"].items():
        lines += [f"failpoint {who:<9}{where:<22} {_list(counts)}" for where, counts in points.items()]
    lines += [f"not met   {who}: {', '.join(left)}" for who, left in summary["not met"].items() if left]
    for verdict in summary["verdicts"]:
        counted = _list(verdict.counts)
        line = (
            f"I{verdict.number:<3}{verdict.name:<26}{verdict.broken:>4} / {verdict.opportunities:<7} {verdict.result}"
        )
        lines.append(line + (f"  ({verdict.reason})" if verdict.reason else f"  {counted}" if counted else ""))
        lines += [f"      {violation}" for violation in verdict.violations[:5]]
    lines += [f"recovery  {name}: {_list(value) or 'no case'}" for name, value in summary["recovery"].items()]
    lines += [f"at least once  {_list(summary['executions'])}"]
    lines += [f"losses    {_list(summary['losses'])}"] if summary["losses"] else []
    lines += [f"leaks     {_list(summary['leaks'])}"]
    lines += [f"broke     {_list(summary['broke'])}"] if summary["broke"] else []
    lines.append(f"verdict   {summary['verdict']}")
    if vacuous := vacuous_lines(summary["verdicts"]):
        lines.append(f"vacuous   {', '.join(vacuous)}: the races or faults that could violate them never happened")
    return "\n".join(lines)


BEHAVIOURS = {
    "block": "event loop blocked by a job",
    "hog": "interpreter held by a job",
    "kill": "killed by a job",
    "stop": "frozen by a job",
}


def _faults(evidence: Evidence, verdicts: list[Verdict]) -> dict[str, int]:
    """Faults by kind: of the store, of the network, of processes, and permanent ones such as a wrong clock."""
    faults = Counter(note.facts["kind"] for note in evidence.noted("fault"))
    for note in evidence.noted("failpoint"):
        faults[f"failpoint {note.facts['action']}"] += 1
    for note in evidence.noted("behaviour"):
        faults[BEHAVIOURS[note.facts["kind"]]] += 1
    for note in evidence.noted("exit"):
        if note.facts["code"] == 139:
            faults["poison"] += 1
    counts = {verdict.number: verdict.counts for verdict in verdicts}
    standing = {
        "workers with a wrong clock": counts[26].get("skewed workers", 0),
        "wake-ups lost": counts[27]["dropped"],
        "wake-ups repeated": counts[27]["doubled"],
    }
    return {**dict(faults.most_common()), **{kind: int(number) for kind, number in standing.items() if number}}


def _points(evidence: Evidence) -> dict[str, dict[str, dict[str, int]]]:
    """By kind of process and failpoint: how often it was passed, and how often each action happened there."""
    points: dict[str, dict[str, Counter[str]]] = {}
    passed: dict[str, dict[str, int]] = {}
    for note in evidence.noted("points"):
        passed[note.process] = note.facts["passed"]
    for process, counts in passed.items():
        for where, number in counts.items():
            points.setdefault(process.partition("-")[0], {}).setdefault(where, Counter())["passed"] += number
    for note in evidence.noted("failpoint"):
        where = f"{note.facts['when']} {note.facts['verb']}"
        points.setdefault(note.process.partition("-")[0], {}).setdefault(where, Counter())[note.facts["action"]] += 1
    return {who: {where: dict(counts) for where, counts in sorted(each.items())} for who, each in points.items()}


def _executions(evidence: Evidence) -> dict[str, float]:
    """The cost of at-least-once execution: handler starts per completed job."""
    starts = Counter(note.facts["job"] for note in evidence.noted("handler"))
    completed = {
        change.id
        for change in evidence.changes
        if change.after == "completed" and change.before == "running" and change.id in starts
    }
    times = sum(starts[job_id] for job_id in completed)
    return {
        "handlers started": starts.total(),
        "jobs completed by one": len(completed),
        "starts per completed job": round(times / len(completed), 3) if completed else 0,
    }


def _growth(verdicts: list[Verdict]) -> dict[str, float]:
    at_rest = next(verdict for verdict in verdicts if verdict.name == "clean at rest")
    return at_rest.counts


def _mode(summary: dict[str, Any]) -> str:
    return f" ({summary['durability']})" if summary["durability"] else ""


def _rounds(summary: dict[str, Any]) -> str:
    return f"  {summary['rounds']} rounds" if "rounds" in summary else ""


def _list(counts: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in counts.items())
