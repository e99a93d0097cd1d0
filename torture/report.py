"""The report of a run: text for people, JSON for programs."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec

from torture.checker.execution import spread
from torture.checker.telling import is_claim, is_reap
from torture.checker.verdict import Verdict, Word
from torture.evidence import Evidence


def summary(evidence: Evidence, verdicts: list[Verdict]) -> dict[str, Any]:
    """Everything that a report says."""
    facts = evidence.facts
    starts = evidence.called("start")
    ended = Counter(row.status for row in facts.rows)
    races = {
        "stale writes refused": sum(not note.facts["written"] for note in evidence.noted("settled")),
        "stale renewals and guards refused": len(evidence.noted("stale")),
        "taken back": sum(is_reap(change) for change in evidence.changes),
        "failpoints": len(evidence.noted("failpoint")),
    }
    return {
        "store": facts.store,
        "seed": facts.seed,
        "profile": facts.profile,
        "mutant": facts.mutant,
        "versions": facts.versions,
        "seconds": round((facts.ended - facts.begun) / 1e6, 1),
        "load": {
            "starts": Counter(call.outcome for call in starts),
            "jobs": len({change.id for change in evidence.changes}),
            "claims": sum(is_claim(change) for change in evidence.changes),
            "changes": len(evidence.changes),
            "ended": ended,
            "operations": Counter(call.op for call in evidence.calls),
        },
        "faults": _faults(evidence),
        "failpoints": Counter(
            f"{note.facts['action']} {note.facts['when']} {note.facts['verb']}" for note in evidence.noted("failpoint")
        ),
        "races": races,
        "recovery": _recovery(evidence),
        "leaks": facts.leaks,
        "broke": Counter(note.facts["error"][:120] for note in evidence.noted("broke")),
        "verdicts": verdicts,
        "verdict": overall(verdicts),
    }


def overall(verdicts: list[Verdict]) -> str:
    words = {verdict.word for verdict in verdicts}
    if Word.VIOLATED in words:
        return "INVALID"
    return "VALID, with vacuous lines" if Word.VACUOUS in words else "VALID"


def as_json(summary: dict[str, Any]) -> bytes:
    return msgspec.json.format(msgspec.json.encode(summary), indent=2)


def as_text(summary: dict[str, Any]) -> str:
    """A page for a terminal."""
    versions = " ".join(f"{name} {version}" for name, version in summary["versions"].items())
    mutant = f"  mutant={summary['mutant']}" if summary["mutant"] else ""
    load = summary["load"]
    lines = [
        f"torture  store={summary['store']}  seed={summary['seed']}  profile={summary['profile']}{mutant}"
        f"  {summary['seconds']} s  {versions}",
        f"load      starts {_list(load['starts'])}; {load['jobs']} jobs, {load['claims']} claims, "
        f"{load['changes']} changes",
        f"ended     {_list(load['ended'])}",
        f"faults    {_list(summary['faults'])}",
        f"failpts   {_list(summary['failpoints'])}",
        f"races     {_list(summary['races'])}",
    ]
    for verdict in summary["verdicts"]:
        counted = _list(verdict.counts)
        line = f"I{verdict.number:<3}{verdict.name:<26}{verdict.broken:>4} / {verdict.opportunities:<7} {verdict.word}"
        lines.append(line + (f"  ({verdict.reason})" if verdict.reason else f"  {counted}" if counted else ""))
        lines += [f"      {violation}" for violation in verdict.violations[:5]]
    lines += [f"recovery  {name}: {value}" for name, value in summary["recovery"].items()]
    lines += [f"leaks     {_list(summary['leaks'])}"]
    lines += [f"broke     {_list(summary['broke'])}"] if summary["broke"] else []
    lines.append(f"verdict   {summary['verdict']}")
    return "\n".join(lines)


def _faults(evidence: Evidence) -> dict[str, int]:
    faults = Counter(note.facts["kind"] for note in evidence.noted("fault"))
    for note in evidence.noted("failpoint"):
        faults[f"failpoint {note.facts['action']}"] += 1
    for note in evidence.noted("exit"):
        if note.facts["code"] == 139:
            faults["poison"] += 1
    return dict(faults.most_common())


def _recovery(evidence: Evidence) -> dict[str, dict[str, float]]:
    """How long it took: from a lease's end to the job's next claim, from the store's return to the next completion."""
    again: list[float] = []
    for changes in evidence.by_job.values():
        expired: int | None = None
        for change in changes:
            if is_reap(change):
                expired = change.leased_before
            elif is_claim(change) and expired is not None:
                again.append((change.at - expired) / 1e6)
                expired = None
    completions = sorted(change.at for change in evidence.changes if change.after == "completed")
    back: list[float] = []
    for note in evidence.noted("fault"):
        if note.facts["kind"] in ("server restart", "server kill", "server stop fast", "network cut"):
            returned = note.at - 2_000_000
            later = [at for at in completions if at >= returned]
            if later:
                back.append((later[0] - returned) / 1e6)
    return {
        "seconds from a lost lease's end to the job running again": spread("", again),
        "seconds from the store's return to the first completion": spread("", back),
    }


def _list(counts: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in counts.items())
