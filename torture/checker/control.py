"""16 to 20: cancelling, completing from outside, waiting, keeping, payloads."""

from __future__ import annotations

from collections import defaultdict

from torture.audit import Change, Row
from torture.checker.execution import spread
from torture.checker.telling import FINISHED, ends, is_outside, story
from torture.checker.told import check_told
from torture.checker.verdict import Tally
from torture.evidence import Evidence
from torture.history import Call

TICK = 5_000
TAKEN = ("running", "cancelled")
LOOK_WITHOUT_WAKEUP = 5.0
"""Seconds between two looks of a waiter that hears nothing (holdfast.waiting.POLL)."""
PRUNED_WITHIN = 9.0
"""Seconds: a worker prunes every 1 to 3 of them here, and may be killed a few times before it comes to it."""


def cancel_is_final(evidence: Evidence) -> Tally:
    """16. After a cancel that took: no start, no end but that one, no next step, until an operator's retry."""
    tally = Tally()
    for job_id, changes in evidence.by_job.items():
        cancelled: Change | None = None
        for change in changes:
            if change.before in FINISHED and change.after in ("pending", "blocked"):
                cancelled = None
            if cancelled is not None and change.after not in ("cancelled", None):
                tally.broken(f"{job_id}: {change.after} after it was cancelled: {story(changes)}")
            if change.after == "cancelled" and change.before != "cancelled":
                cancelled = change
                tally.opportunities += 1
                tally.counts[f"while {change.before}"] = tally.counts.get(f"while {change.before}", 0) + 1
        if cancelled is not None:
            later = [each for each in evidence.by_chain[changes[0].chain] if each.seq > cancelled.seq]
            if any(each.before is None and each.index > changes[0].index for each in later):
                tally.broken(f"{job_id}: its chain went on after it was cancelled: {story(changes)}")
    for call in evidence.called("cancel"):
        if call.outcome == "ok" and call.facts.get("status") is not None:
            seen = {change.after for change in evidence.by_chain.get(call.args["chain"], []) if ends(change)}
            told = call.facts["status"]
            tally.expect(told in seen, f"cancel of {call.args['chain']} was told {told}, which never was: {seen}")
    check_told(tally, evidence, [each for each in evidence.changes if (each.before, each.after) == TAKEN])
    return tally


def one_completer(evidence: Evidence) -> Tally:
    """17. Of those who complete a chain, the worker included, one wins and the others are told so."""
    tally = Tally()
    by_chain: dict[str, list[Call]] = defaultdict(list)
    for call in evidence.called("complete"):
        by_chain[call.args["chain"]].append(call)
    for chain, calls in by_chain.items():
        changes = evidence.by_chain.get(chain, [])
        outside = [change for change in changes if is_outside(change)]
        won = [call for call in calls if call.outcome == "ok"]
        unknown = [call for call in calls if call.outcome == "info"]
        lost = [call for call in calls if call.outcome == "fail"]
        tally.opportunities += len(lost)
        if not len(won) <= len(outside) <= len(won) + len(unknown):
            tally.broken(
                f"{chain}: {len(won)} completers won, {len(unknown)} do not know, "
                f"and it was completed from outside {len(outside)} times: {story(changes)}"
            )
    check_told(tally, evidence, [each for each in evidence.changes if each.before == "running" and is_outside(each)])
    return tally


def waiters_wake(evidence: Evidence) -> Tally:
    """18. A waiter is told how the chain ended, soon after it did, or that its own time was up before."""
    tally = Tally()
    late: dict[bool, list[float]] = {False: [], True: []}
    bound = LOOK_WITHOUT_WAKEUP + evidence.facts.slack
    timely = evidence.facts.timely
    results = _results(evidence)
    for call in evidence.called("wait"):
        if call.ended is None or call.outcome != "ok":
            continue
        chain, told = call.args["chain"], call.facts["status"]
        changes = evidence.by_chain.get(chain, [])
        if told in FINISHED:
            match = [each for each in changes if ends(each) and each.after == told and each.at <= call.ended + TICK]
            tally.expect(bool(match), f"waiter of {chain} was told {told}: {story(changes)}")
            if match:
                waited = _waited(evidence, call, match[-1].at)
                late[bool(call.args.get("deaf"))].append(waited)
                told_late = f"waiter of {chain} was told {waited:.1f} s after it ended, bound {bound:g} s"
                tally.expect_soon(timely, waited <= bound, told_late)
            output = call.facts.get("output")
            if told == "completed" and output is not None and chain in results:
                kept = results[chain]
                tally.expect(output == kept, f"waiter of {chain} was given {output!r}, its result is {kept!r}")
        elif told == "timeout":
            end = _last_end(evidence, chain)
            slept = 0.0 if end is None else _waited(evidence, call, end)
            tally.expect_soon(timely, slept <= bound, f"waiter of {chain} gave up {slept:.1f} s after it had ended")
            over = _waited(evidence, call, call.begun) - call.args["timeout"]
            tally.expect_soon(timely, over <= bound, f"waiter of {chain} was kept {over:.1f} s beyond its own time")
        elif told == "gone":
            deleted = any(each.after is None and each.at <= call.ended + TICK for each in changes)
            tally.expect(deleted, f"waiter of {chain} was told that there is none: {story(changes)}")
    tally.counts |= spread("seconds from end to waiter told, with wake-ups", late[False])
    tally.counts |= spread("without", late[True])
    return tally


def _waited(evidence: Evidence, call: Call, since: int) -> float:
    """Seconds from then, or from when the call began, to its answer, while the store and the waiter were awake."""
    assert call.ended is not None
    since = max(since, call.begun)
    return (call.ended - since - evidence.still(call.process, since, call.ended)) / 1e6


def _results(evidence: Evidence) -> dict[str, str | None]:
    """What each completed chain came to: the output of its last step."""
    last: dict[str, Row] = {}
    for row in evidence.facts.rows:
        if row.chain not in last or row.index > last[row.chain].index:
            last[row.chain] = row
    return {chain: row.output for chain, row in last.items() if row.status == "completed"}


def _last_end(evidence: Evidence, chain: str) -> int | None:
    """When a chain was finished for good; None if it is not, or was opened again."""
    changes = evidence.by_chain.get(chain, [])
    if not changes or any(change.before in FINISHED and change.after is not None for change in changes):
        return None
    last = max(change.index for change in changes)
    final = [change for change in changes if change.index == last and ends(change)]
    return final[-1].at if final else None


def kept_as_told(evidence: Evidence) -> Tally:
    """19. Nothing is pruned before its time, nor anything unfinished; nothing is kept long after it."""
    tally = Tally()
    asked: set[str] = set()
    for call in evidence.called("delete"):
        asked |= set(call.args["chains"])
    overdue: list[float] = []
    for chain, changes in evidence.by_chain.items():
        gone = [change for change in changes if change.after is None]
        if chain in asked or not (gone or changes[-1].after in FINISHED):
            continue
        for change in gone:
            if change.before not in FINISHED:
                tally.broken(f"{change.id}: pruned while {change.before}")
        whole = [each for each in changes if each.after in FINISHED and each.keep is not None]
        due = max(((each.finished_at or 0) + (each.keep or 0) for each in whole), default=None)
        for change in gone:
            early = 0 if due is None else due - change.at
            tally.expect(due is not None and early <= TICK, f"{change.id}: pruned {early / 1e6:.1f} s before its time")
        if due is not None:
            moment = gone[-1].at if gone else evidence.facts.ended
            late = (moment - due - evidence.unattended(due, moment)) / 1e6
            overdue += [late] if gone else []
            if late > PRUNED_WITHIN + evidence.facts.slack:
                tally.expect_soon(evidence.facts.timely, False, f"{chain}: kept {late:.1f} s beyond its time")
    tally.counts |= spread("seconds kept beyond its time", overdue)
    return tally


def payloads_exact(evidence: Evidence) -> Tally:
    """20. What was given comes back the same, or is refused with a typed error before anything is written."""
    tally = Tally()
    for call in evidence.called("echo"):
        if call.outcome == "ok":
            tally.expect(call.facts["equal"], f"{call.args['value']} came back as {call.facts['got']}")
    for call in evidence.called("refuse"):
        if call.outcome == "ok":
            tally.expect(
                call.facts["error"] == "PayloadRefused", f"{call.args['value']} was met with {call.facts['error']}"
            )
    for row in evidence.facts.rows:
        if row.type == "vague":
            tally.expect(
                row.status in ("failed", "cancelled"),
                f"{row.id}: an output that cannot be written left it {row.status}",
            )
    return tally
