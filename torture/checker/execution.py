"""5 to 11: effects, leases, stale writes, attempts, due times, recovery, poison jobs."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from itertools import pairwise
from math import inf
from typing import NamedTuple

from torture.checker.abort_reasons import check_reasons
from torture.checker.transitions import committed_by, is_claim, is_outside, is_reap, parent_of, timeline
from torture.checker.verdict import Tally
from torture.evidence import Evidence

TICK = 5_000
"""Microseconds by which two readings of one clock may differ: some audits have a resolution of milliseconds."""
UNLIMITED = 0
MOST_EXCUSED = 0.85
"""If a larger share of the load is excused, a time limit that held proves nothing."""
LEAST_ATTENDED = 1_000_000
"""Microseconds in which a worker must be able to work before a lack of progress is a violation."""


def effects_once(evidence: Evidence) -> Tally:
    """5. The writes of a completion transaction exist exactly once if the job completed, and never otherwise."""
    tally = Tally()
    ledger: dict[str, list[str]] = defaultdict(list)
    for job_id, _, token in evidence.facts.ledger:
        ledger[job_id].append(token)
    effects = Counter(
        parent_of(change) for change in evidence.changes if change.before is None and change.type == "effect"
    )
    promised = {note.facts["job"]: note.facts for note in evidence.noted("promise")}
    for job_id in {*ledger, *promised, *effects}:
        changes = evidence.by_job.get(job_id, [])
        done = [change for change in changes if change.after == "completed" and change.before != "completed"]
        by_attempt = [change.token for change in done if not is_outside(change)]
        promise = promised.get(job_id, {})
        if evidence.facts.transactional and (promise.get("ledger") or job_id in ledger):
            tally.expect(
                ledger[job_id] == by_attempt,
                f"{job_id}: completed under {by_attempt}, its ledger says {ledger[job_id]}: {timeline(changes)}",
            )
        if promise.get("effect") or effects[job_id]:
            tally.expect(
                effects[job_id] == len(by_attempt),
                f"{job_id}: completed {len(by_attempt)} times, {effects[job_id]} side chains: {timeline(changes)}",
            )
    starts = Counter(note.facts["job"] for note in evidence.noted("handler"))
    tally.counts["handler starts"] = starts.total()
    tally.counts["of jobs begun more than once"] = sum(starts[job_id] > 1 for job_id in {*ledger, *promised, *effects})
    return tally


def one_lease(evidence: Evidence) -> Tally:
    """6. Two claims of a job never hold at the same time, by the store's clock."""
    tally = Tally()
    for job_id, changes in evidence.by_job.items():
        lost = False
        for change in changes:
            # An overlap is possible only after a reap: the former worker may still believe that it holds the job.
            tally.opportunities += lost and is_claim(change)
            lost = is_reap(change) or (lost and not is_claim(change))
            if is_claim(change) and change.before == "running":
                tally.broken(f"{job_id}: claimed while another claim held it: {timeline(changes)}")
            if change.after == "running" and change.leased_until is None:
                tally.broken(f"{job_id}: runs without a lease, so that no reaper would find it: {timeline(changes)}")
            early = (change.leased_before or 0) - change.at
            if is_reap(change) and early > TICK:
                tally.broken(f"{job_id}: reaped {early / 1e6:.3f} s before its lease expired: {timeline(changes)}")
    handed: dict[tuple[str, str], list[str]] = defaultdict(list)
    for note in evidence.noted("handler"):
        handed[note.facts["job"], note.facts["token"]].append(note.process)
    for (job_id, token), processes in handed.items():
        if len(processes) > 1:
            tally.broken(f"{job_id}: the claim {token[:6]} was run {len(processes)} times, by {processes}")
    return tally


def stale_cannot_write(evidence: Evidence) -> Tally:
    """7. A write with a token succeeds only while the job runs with that token."""
    tally = Tally()
    settled: set[tuple[str, str | None, str | None]] = set()
    for change in evidence.changes:
        if change.before == "running" and change.after != "running" and change.token_before is not None:
            if change.token not in (None, change.token_before):
                reported = f"{change.id}: ran under {change.token_before}, ended under {change.token}"
                tally.broken(reported, by_audit=True)
            # A reap, a cancel or a completion from outside removes the token: that is no settlement of a worker.
            settled.add((change.id, change.token, change.after))
    for note in evidence.noted("settled"):
        job_id, token, status = note.facts["job"], note.facts["token"], note.facts["status"]
        if not note.facts["written"]:
            tally.opportunities += 1
        elif (job_id, token, status) not in settled:
            reported = timeline(evidence.by_job.get(job_id, []))
            tally.broken(f"{job_id}: settled by {token[:6]} as {status}, but never written: {reported}")
    tally.opportunities += len(evidence.noted("stale"))
    _check_accepted(tally, evidence)
    _check_leases(tally, evidence)
    check_reasons(tally, evidence)
    for row in evidence.facts.rows:
        output = row.output or ""
        if row.token is not None and output.startswith("token:") and output != f"token:{row.token}":
            tally.broken(f"{row.id}: its output is of {output[6:12]}, it completed under {row.token[:6]}")
    return tally


def _check_accepted(tally: Tally, evidence: Evidence) -> None:
    """No renewal or progress report may be accepted if it was sent after the claim had certainly ended."""
    ends = _ends_of_claims(evidence)
    for note in evidence.noted("accepted"):
        asked = note.facts["asked"]
        for job_id, token in note.facts["claims"]:
            over = [end for end in ends[job_id, token] if end.known + TICK < asked and end.claimed_again > note.at]
            if over:
                late = (asked - over[0].known) / 1e6
                accepted = f"{note.facts['verb']} under {token[:6]} was accepted {late:.3f} s after it was known"
                became = over[0].status or "deleted"
                tally.broken(f"{job_id}: {accepted} to be {became}: {timeline(evidence.by_job[job_id])}")


class _End(NamedTuple):
    """The end of a claim."""

    known: int
    """When it was certainly committed."""
    status: str | None
    """What the job became; None if it was deleted."""
    claimed_again: float
    """When the same token claimed the job once more. A worker repeats a claim whose answer was lost with its token, and
    a reap may come first."""


def _ends_of_claims(evidence: Evidence) -> dict[tuple[str, str], list[_End]]:
    """The ends of all claims, by job and token."""
    reported = _acknowledged_ends(evidence)
    ends: dict[tuple[str, str], list[_End]] = defaultdict(list)
    for job_id, changes in evidence.by_job.items():
        for place, change in enumerate(changes):
            token = change.token_before
            if token is not None and (change.after != "running" or change.token != token):
                # A settlement by the worker itself: its transaction may still be open.
                known = committed_by(changes, place, [] if change.token == token else reported[job_id, change.after])
                again = (later.at for later in changes[place + 1 :] if is_claim(later) and later.token == token)
                ends[job_id, token].append(_End(known, change.after, next(again, inf)))
    return ends


def _acknowledged_ends(evidence: Evidence) -> dict[tuple[str, str | None], list[int]]:
    """When the calls that cancelled, completed or deleted a job returned."""
    reported: dict[tuple[str, str | None], list[int]] = defaultdict(list)
    for call in evidence.called("cancel", "complete", "delete"):
        if call.outcome != "ok" or call.ended is None:
            continue
        if call.op == "complete":
            reported[call.facts.get("job", call.args["chain"]), "completed"].append(call.ended)
            continue
        status = None if call.op == "delete" else "cancelled"
        for chain in [call.args["chain"]] if call.op == "cancel" else call.facts.get("deleted", call.args["chains"]):
            for job_id in {change.id for change in evidence.by_chain.get(chain, [])}:
                reported[job_id, status].append(call.ended)
    return reported


def _check_leases(tally: Tally, evidence: Evidence) -> None:
    """By the audit alone: a row that is not running has no lease and gets no token."""
    for change in evidence.changes:
        if change.after is None or change.after == "running":
            continue
        appeared = change.before != "running" and change.token is not None and change.token != change.token_before
        if change.leased_until is not None or appeared:
            what = "got a token" if appeared else "was leased"
            reported = f"{change.id}: {what} while it was {change.after}: {timeline(evidence.by_job[change.id])}"
            tally.broken(reported, by_audit=True)


def attempts_count(evidence: Evidence) -> Tally:
    """8. Each claim counts one attempt, up to the limit; only a release subtracts one, only a retry resets them."""
    tally = Tally()
    # Recorded before the call: the worker may be killed before the release returns.
    released = {(note.facts["job"], note.facts["token"]) for note in evidence.noted("releasing")}
    written = {
        (note.facts["job"], note.facts["token"])
        for note in evidence.noted("settled")
        if note.facts["written"] and note.facts["status"] == "pending"
    }
    for job_id, changes in evidence.by_job.items():
        for change in changes:
            step = change.attempt - change.attempt_before
            if is_claim(change):
                limit = change.max_attempts
                tally.expect(step == 1, f"{job_id}: a claim made attempt {change.attempt_before} into {change.attempt}")
                if limit not in (None, UNLIMITED) and change.attempt > limit:
                    tally.broken(f"{job_id}: attempt {change.attempt} of {limit}: {timeline(changes)}")
            elif change.before == "running" and change.after == "pending":
                # Supervised processes write no history, so their releases are not recorded.
                claim = (job_id, change.token_before)
                may = claim in released or change.type == "elastic"
                must = claim in released and claim in written and change.token == change.token_before
                allowed = {-1} if must else {0, -1} if may else {0}
                tally.expect(step in allowed, f"{job_id}: attempt {change.attempt} after {change.attempt_before}")
                tally.counts["given back"] = tally.counts.get("given back", 0) + must
            elif change.before in ("failed", "cancelled") and change.after in ("pending", "blocked"):
                tally.expect(change.attempt == 0, f"{job_id}: retried with attempt {change.attempt}")
            elif change.before is not None and change.after is not None:
                tally.expect(step == 0, f"{job_id}: attempt {change.attempt_before} became {change.attempt}")
    return tally


def never_early(evidence: Evidence) -> Tally:
    """9. No claim before the due time, by the store's clock."""
    tally = Tally()
    for changes in evidence.by_job.values():
        for earlier, claim in pairwise(changes):
            if not is_claim(claim) or claim.scheduled_before is None:
                continue
            early = claim.scheduled_before - claim.at
            if early > TICK:
                tally.broken(f"{claim.id}: claimed {early / 1e6:.3f} s early")
            # A job that was due from the beginning cannot be claimed too early.
            tally.opportunities += claim.scheduled_before > earlier.at + TICK
    tally.counts["delayed"] = sum(
        change.before is None and (change.scheduled_at or 0) > change.at + 50_000 for change in evidence.changes
    )
    return tally


def recovery(evidence: Evidence) -> Tally:
    """10. An expired lease is reaped within the limit while the store and at least one worker are available."""
    tally = Tally()
    bound = evidence.facts.reap + evidence.facts.poll + evidence.facts.slack
    late: list[float] = []
    for change in evidence.changes:
        # Not the supervised type: all of its processes may be dead for some time.
        if change.before != "running" or change.leased_before is None or change.type == "elastic":
            continue
        # An expired lease without a reap ends when its worker or another call renews it or ends the job.
        if is_reap(change) or change.at > change.leased_before:
            waited = (change.at - change.leased_before - evidence.unattended(change.leased_before, change.at)) / 1e6
            late += [waited] if is_reap(change) else []
            how = "reaped" if is_reap(change) else f"{change.after or 'deleted'} and never reaped"
            reported = f"{change.id}: {how} {waited:.1f} s after its lease, bound {bound:g} s"
            tally.expect_soon(evidence.facts.timely, waited <= bound, reported)
    for job_id, changes in evidence.by_job.items():
        last = changes[-1]
        if last.after == "running":
            tally.broken(f"{job_id}: still running at the end: {timeline(changes)}")
    tally.counts |= spread("seconds from lease end to reaped", late)
    tally.counts["seconds in which no worker was able"] = round(sum(b - a for a, b in evidence.no_worker.all) / 1e6, 1)
    weigh_excuses(tally, evidence)
    return tally


def weigh_excuses(tally: Tally, evidence: Evidence) -> None:
    """Count the excused time. If it is nearly all of the load, the verdict is vacuous."""
    tally.counts["most percent of the time excused"] = round(100 * evidence.excused, 1)
    if evidence.facts.timely and evidence.excused > MOST_EXCUSED:
        tally.opportunities = 0


def poison_bounded(evidence: Evidence) -> Tally:
    """11. A job that kills its worker fails after its attempts, while other jobs complete."""
    tally = Tally()
    others = [change for change in evidence.changes if change.type != "poison"]
    moments = sorted(change.at for change in others)
    completed = sorted(change.at for change in others if change.after == "completed" and change.before != "completed")
    for job_id, changes in evidence.by_job.items():
        if changes[0].type != "poison":
            continue
        claims = [change for change in changes if is_claim(change)]
        last = changes[-1]
        if last.after is None or last.after == "cancelled" or not claims:
            continue
        limit = claims[0].max_attempts or 0
        # The attempt number, not the number of claims: a stopping worker may have released the job before it ran.
        used = max(claim.attempt for claim in claims)
        tally.expect(
            last.after == "failed" and used <= limit,
            f"{job_id}: {used} attempts of {limit}, now {last.after}: {timeline(changes)}",
        )
        begun, ended = claims[0].at, last.at
        attended = ended - begun - evidence.unattended(begun, ended)
        if _between(moments, begun, ended) and attended >= LEAST_ATTENDED and not _between(completed, begun, ended):
            tally.broken(f"{job_id}: for {attended / 1e6:.1f} s no other job completed while it killed workers")
    return tally


def _between(moments: list[int], begun: int, ended: int) -> int:
    return bisect_left(moments, ended) - bisect_right(moments, begun)


def spread(name: str, values: list[float]) -> dict[str, float]:
    """The p50, p99 and maximum of measurements."""
    if not values:
        return {}
    ordered = sorted(values)
    at = {"p50": len(ordered) // 2, "p99": len(ordered) * 99 // 100, "max": len(ordered) - 1}
    return {f"{name} {which}": round(ordered[place], 3) for which, place in at.items()}
