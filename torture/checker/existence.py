"""1 to 4: accepted jobs exist, no others exist, and each job ends once."""

from __future__ import annotations

from collections import Counter

from torture.audit import Change
from torture.checker.answer_times import by_then, during
from torture.checker.replaced_file import check_replaced
from torture.checker.transitions import FINISHED, UNFINISHED, ends, parent_of, timeline
from torture.checker.verdict import Tally
from torture.evidence import Evidence

LEGAL: dict[str | None, set[str | None]] = {
    None: {"pending", "blocked", "failed"},
    "blocked": {"pending", "failed", "cancelled", "completed"},
    "pending": {"running", "cancelled", "completed"},
    "running": {"completed", "pending", "failed", "cancelled"},
    "completed": set(),
    "failed": {"pending", "blocked"},
    "cancelled": {"pending", "blocked"},
}


def no_lost_job(evidence: Evidence) -> Tally:
    """1. An acknowledged job exists until it is deleted; a refused one never exists; a batch exists whole or not."""
    tally = Tally()
    created = {change.id: change for change in evidence.changes if change.before is None}
    removed = {change.id for change in evidence.changes if change.after is None}
    unknown = 0
    for call in evidence.called("start"):
        ids: list[str] = call.args["ids"]
        if call.outcome == "ok":
            for asked, found, duplicate in zip(ids, call.facts["found"], call.facts["deduplicated"], strict=True):
                there = found in evidence.rows or (found in created and found in removed)
                tally.expect(
                    there,
                    f"acknowledged start of {found} (asked as {asked}) is missing: {_timeline_of(evidence, found)}",
                )
                if found != asked and not duplicate:
                    tally.broken(f"start of {asked} returned {found} as new")
                if found in created and not by_then(call, [created[found]]):
                    tally.broken(f"start of {found} was acknowledged before it was written")
        elif call.outcome == "fail":
            for asked in ids:
                tally.expect(asked not in created, f"start of {asked} certainly failed, but the job exists")
        else:
            unknown += 1
            if together := call.args.get("together"):
                _check_together(tally, [asked in created for asked in ids], together, f"the batch of {ids[0]}")
    tally.counts["unknown"] = unknown
    check_replaced(tally, evidence)
    return tally


def _check_together(tally: Tally, made: list[bool], together: int, batch: str) -> None:
    """A start with an unknown outcome: of each `together` chains that are written atomically, all exist or none."""
    for begin in range(0, len(made), together):
        piece = made[begin : begin + together]
        tally.expect(len(set(piece)) == 1, f"{batch} was written in part: {sum(piece)} of {len(piece)} from {begin} on")


def no_phantom(evidence: Evidence) -> Tally:
    """2. Every job was started by a call, or by the completion of another job."""
    tally = Tally()
    started = {asked for call in evidence.called("start") for asked in call.args["ids"] if call.outcome != "fail"}
    made = Counter(change.id for change in evidence.changes if change.before is None)
    for job_id, times in made.items():
        if times > 1:
            tally.broken(f"{job_id} was created {times} times: {timeline(evidence.by_job[job_id])}", by_audit=True)
    by_place = {(change.chain, change.index): change.id for change in evidence.changes if change.before is None}
    for change in evidence.changes:
        if change.before is not None:
            continue
        if change.index:
            before = by_place.get((change.chain, change.index - 1))
            done = before is not None and any(each.after == "completed" for each in evidence.by_job[before])
            reported = f"{change.id} is job {change.index} of {change.chain} without a completed predecessor"
            tally.expect(done, reported, by_audit=True)
        elif change.type == "effect":
            parent = parent_of(change)
            done = any(each.after == "completed" for each in evidence.by_job.get(parent, []))
            tally.expect(done, f"side chain {change.id} exists, but its parent {parent} never completed")
        elif change.type == "note_failure" or change.id.startswith("schedule:"):
            pass  # invariants 34 and 15
        else:
            tally.expect(change.id in started, f"{change.id} ({change.type}) exists, but no call started it")
    return tally


def atomic_with_user_data(evidence: Evidence) -> Tally:
    """3. The business row of the same transaction exists if and only if the job exists."""
    if not evidence.facts.transactional:
        return Tally(reason="this store cannot join a transaction of the application")
    tally = Tally()
    rows = Counter(evidence.facts.business)
    created = {change.id for change in evidence.changes if change.before is None}
    for call in evidence.called("start"):
        if call.args.get("business"):
            (asked,) = call.args["ids"]
            tally.expect(
                rows[asked] == (asked in created),
                f"{asked}: {rows[asked]} business rows, job {'exists' if asked in created else 'does not exist'}"
                f" ({call.outcome})",
            )
    rolled_back = [call for call in evidence.called("start") if call.args.get("rollback")]
    tally.counts["rolled back"] = len(rolled_back)
    return tally


def one_end(evidence: Evidence) -> Tally:
    """4. A job ends once and stays unchanged then; only an operator's retry makes it unfinished again."""
    tally = Tally()
    asked_for = [call for call in evidence.called("retry") if call.outcome != "fail"]
    retries = Counter(call.facts.get("job") or call.args["job"] for call in asked_for)
    for call in asked_for:
        if call.outcome == "ok":
            changes = evidence.by_job.get(call.facts["job"], [])
            opened = [change for change in changes if _reopens(change)]
            if not during(call, opened):
                tally.broken(f"retry of {call.facts['job']} was acknowledged, but not written: {timeline(changes)}")
    for job_id, changes in evidence.by_job.items():
        reopened = 0
        for before, after in zip([None, *changes], changes, strict=False):
            if not _follows(before, after):
                reported = f"{job_id}: a change does not begin with the status of the last one: {timeline(changes)}"
                tally.broken(reported, by_audit=True)
            if after.after is not None and after.before != after.after and after.after not in LEGAL[after.before]:
                tally.broken(f"{job_id}: {after.before} became {after.after}: {timeline(changes)}", by_audit=True)
            if after.before == after.after and after.before in FINISHED and _rewritten(after):
                tally.broken(f"{job_id}: overwritten after it had ended: {timeline(changes)}", by_audit=True)
            if after.before == "running" and ends(after) and after.token not in (None, after.token_before):
                tally.broken(
                    f"{job_id}: ran under one token and ended under another: {timeline(changes)}", by_audit=True
                )
            reopened += _reopens(after)
            tally.opportunities += ends(after)
        # A retry without an answer is counted under its argument: the chain, not its last job.
        asked = retries[job_id] + (retries[changes[0].chain] if changes[0].chain != job_id else 0)
        if reopened > asked:
            tally.broken(
                f"{job_id}: left its end {reopened} times, {asked} retries were asked for: {timeline(changes)}"
            )
        row, last = evidence.rows.get(job_id), changes[-1]
        if row is not None and (row.status, row.token) != (last.after, last.token):
            tally.broken(f"{job_id}: read as {row.status}, but {last.after} in the audit: {timeline(changes)}")
    return tally


def _reopens(change: Change) -> bool:
    return change.before in FINISHED and change.after in UNFINISHED


def _rewritten(change: Change) -> bool:
    """Whether a write to a finished row changed its token, lease, worker or attempt."""
    before = (change.token_before, change.leased_before, change.worker_before, change.attempt_before)
    return before != (change.token, change.leased_until, change.worker, change.attempt)


def _follows(before: Change | None, after: Change) -> bool:
    return after.before == (None if before is None else before.after)


def _timeline_of(evidence: Evidence, job_id: str) -> str:
    return timeline(evidence.by_job.get(job_id, [])) or "it was never written"
