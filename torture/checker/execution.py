"""5 to 11: effects once, one lease at a time, attempts that count, nothing early, everything recovered."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import pairwise

from torture.checker.telling import is_claim, is_outside, is_reap, parent_of, story
from torture.checker.verdict import Tally
from torture.evidence import Evidence

TICK = 5_000
"""Microseconds by which two readings of one clock may differ: some audits count in milliseconds."""
FOR_EVER = 0


def effects_once(evidence: Evidence) -> Tally:
    """5. What a completion transaction wrote is there once for a job that completed, and never otherwise."""
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
                f"{job_id}: completed under {by_attempt}, its ledger says {ledger[job_id]}: {story(changes)}",
            )
        if promise.get("effect") or effects[job_id]:
            tally.expect(
                effects[job_id] == len(by_attempt),
                f"{job_id}: completed {len(by_attempt)} times, {effects[job_id]} side chains: {story(changes)}",
            )
    starts = Counter(note.facts["job"] for note in evidence.noted("handler"))
    tally.counts["handler starts"] = starts.total()
    tally.counts["of jobs begun more than once"] = sum(starts[job_id] > 1 for job_id in {*ledger, *promised, *effects})
    return tally


def one_lease(evidence: Evidence) -> Tally:
    """6. The times for which two claims of a job hold never overlap, by the store's clock."""
    tally = Tally()
    for job_id, changes in evidence.by_job.items():
        claims = [change for change in changes if is_claim(change)]
        tally.opportunities += max(0, len(claims) - 1)
        for change in changes:
            if is_claim(change) and change.before == "running":
                tally.broken(f"{job_id}: claimed while another claim held it: {story(changes)}")
            if change.after == "running" and change.leased_until is None:
                tally.broken(f"{job_id}: runs without a lease, so that nobody would take it back: {story(changes)}")
            early = (change.leased_before or 0) - change.at
            if is_reap(change) and early > TICK:
                tally.broken(f"{job_id}: taken back {early / 1e6:.3f} s before its lease ran out: {story(changes)}")
    handed: dict[tuple[str, str], list[str]] = defaultdict(list)
    for note in evidence.noted("handler"):
        handed[note.facts["job"], note.facts["token"]].append(note.process)
    for (job_id, token), processes in handed.items():
        if len(processes) > 1:
            tally.broken(f"{job_id}: the claim {token[:6]} was run {len(processes)} times, by {processes}")
    return tally


def stale_cannot_write(evidence: Evidence) -> Tally:
    """7. A write under a token counts only while the job runs under that token."""
    tally = Tally()
    settled: set[tuple[str, str | None, str | None]] = set()
    for change in evidence.changes:
        if change.before == "running" and change.after != "running" and change.token_before is not None:
            if change.token not in (None, change.token_before):
                tally.broken(f"{change.id}: ran under {change.token_before}, ended under {change.token}")
            # What is taken back, cancelled or completed from outside keeps no token: that is nobody's settlement.
            settled.add((change.id, change.token, change.after))
    for note in evidence.noted("settled"):
        job_id, token, status = note.facts["job"], note.facts["token"], note.facts["status"]
        if not note.facts["written"]:
            tally.opportunities += 1
        elif (job_id, token, status) not in settled:
            told = story(evidence.by_job.get(job_id, []))
            tally.broken(f"{job_id}: told that {token[:6]} made it {status}; it never did: {told}")
    tally.opportunities += len(evidence.noted("stale"))
    _check_accepted(tally, evidence)
    for row in evidence.facts.rows:
        output = row.output or ""
        if row.token is not None and output.startswith("token:") and output != f"token:{row.token}":
            tally.broken(f"{row.id}: its output is of {output[6:12]}, it completed under {row.token[:6]}")
    return tally


def _check_accepted(tally: Tally, evidence: Evidence) -> None:
    """Renewals and progress that were accepted: none that was asked for after another had claimed the job."""
    passed_on: dict[tuple[str, str], int] = {}
    for job_id, changes in evidence.by_job.items():
        for earlier, later in pairwise(filter(is_claim, changes)):
            passed_on[job_id, earlier.token or ""] = later.at
    for note in evidence.noted("accepted"):
        for job_id, token in note.facts["claims"]:
            late = note.facts["asked"] - passed_on.get((job_id, token), note.facts["asked"])
            if late > TICK:
                told = f"{note.facts['verb']} under {token[:6]} was accepted {late / 1e6:.3f} s after another's claim"
                tally.broken(f"{job_id}: {told}: {story(evidence.by_job[job_id])}")


def attempts_count(evidence: Evidence) -> Tally:
    """8. One more per claim, none beyond the limit; only a release gives one back, only a retry begins anew."""
    tally = Tally()
    # Noted before the call: whoever gives an attempt back may not live to tell what came of it.
    released = {(note.facts["job"], note.facts["token"]) for note in evidence.noted("releasing")}
    for job_id, changes in evidence.by_job.items():
        for change in changes:
            step = change.attempt - change.attempt_before
            if is_claim(change):
                limit = change.max_attempts
                tally.expect(step == 1, f"{job_id}: a claim made attempt {change.attempt_before} into {change.attempt}")
                if limit not in (None, FOR_EVER) and change.attempt > limit:
                    tally.broken(f"{job_id}: attempt {change.attempt} of {limit}: {story(changes)}")
            elif change.before == "running" and change.after == "pending":
                # Supervised processes write no history: nobody noted what they released.
                given_back = (job_id, change.token_before) in released or change.type == "elastic"
                allowed = {0, -1} if given_back else {0}
                tally.expect(step in allowed, f"{job_id}: attempt {change.attempt} after {change.attempt_before}")
            elif change.before in ("failed", "cancelled") and change.after in ("pending", "blocked"):
                tally.expect(change.attempt == 0, f"{job_id}: retried with attempt {change.attempt}")
            elif change.before is not None and change.after is not None:
                tally.expect(step == 0, f"{job_id}: attempt {change.attempt_before} became {change.attempt}")
    return tally


def never_early(evidence: Evidence) -> Tally:
    """9. No claim before the time the job is scheduled for, by the store's clock."""
    tally = Tally()
    for changes in evidence.by_job.values():
        for earlier, claim in pairwise([None, *changes]):
            if claim is None or not is_claim(claim) or claim.scheduled_before is None:
                continue
            early = claim.scheduled_before - claim.at
            if early > TICK:
                tally.broken(f"{claim.id}: claimed {early / 1e6:.3f} s early")
            # One that was due from the beginning cannot be claimed too early.
            tally.opportunities += earlier is None or claim.scheduled_before > earlier.at + TICK
    tally.counts["delayed"] = sum(
        change.before is None and (change.scheduled_at or 0) > change.at + 50_000 for change in evidence.changes
    )
    return tally


def recovery(evidence: Evidence) -> Tally:
    """10. A lease that ran out is taken back within the bound, while the store and at least one worker are there."""
    tally = Tally()
    bound = evidence.facts.reap + evidence.facts.poll + evidence.facts.slack
    late: list[float] = []
    for change in evidence.changes:
        # With a live reaper: those of the supervised type may all be dead, and are started anew by and by.
        if is_reap(change) and change.leased_before is not None and change.type != "elastic":
            waited = (change.at - change.leased_before - evidence.unattended(change.leased_before, change.at)) / 1e6
            late.append(waited)
            told = f"{change.id}: taken back {waited:.1f} s after its lease, bound {bound:g} s"
            tally.expect_soon(evidence.facts.timely, waited <= bound, told)
    for job_id, changes in evidence.by_job.items():
        last = changes[-1]
        if last.after == "running":
            tally.broken(f"{job_id}: still running at the end: {story(changes)}")
    tally.counts |= spread("seconds from lease end to taken back", late)
    tally.counts["seconds in which no worker was able"] = round(sum(b - a for a, b in evidence.nobody.all) / 1e6, 1)
    return tally


def poison_bounded(evidence: Evidence) -> Tally:
    """11. A job that kills its worker fails after its attempts, while others complete."""
    tally = Tally()
    others = [change.at for change in evidence.changes if change.after == "completed" and change.type != "poison"]
    for job_id, changes in evidence.by_job.items():
        if changes[0].type != "poison":
            continue
        claims = [change for change in changes if is_claim(change)]
        last = changes[-1]
        if last.after is None or last.after == "cancelled" or not claims:
            continue
        limit = claims[0].max_attempts or 0
        # Numbers, not claims: a worker that was told to stop before it ran the job gave its attempt back.
        used = max(claim.attempt for claim in claims)
        tally.expect(
            last.after == "failed" and used <= limit,
            f"{job_id}: {used} attempts of {limit}, now {last.after}: {story(changes)}",
        )
        if not any(claims[0].at < at for at in others):
            tally.broken(f"{job_id}: nothing else completed after it began to kill workers")
    return tally


def spread(name: str, values: list[float]) -> dict[str, float]:
    """p50, p99 and maximum of some measurements."""
    if not values:
        return {}
    ordered = sorted(values)
    at = {"p50": len(ordered) // 2, "p99": len(ordered) * 99 // 100, "max": len(ordered) - 1}
    return {f"{name} {which}": round(ordered[place], 3) for which, place in at.items()}
