"""21 to 32: shutdown, crashes, starvation, clocks, wake-ups, limits, counts, leaks, separation of stores."""

from __future__ import annotations

from collections import Counter, defaultdict

from holdfast.engine.store import Store
from torture.checker.claim_order import check_claim_order
from torture.checker.counters import check_counters
from torture.checker.execution import spread, weigh_excuses
from torture.checker.interruptions import check_interruptions
from torture.checker.live_workers import check_live_workers
from torture.checker.shutdown import check_stopping
from torture.checker.snapshots import check_snapshots
from torture.checker.transitions import is_claim, timeline
from torture.checker.verdict import Tally
from torture.evidence import Evidence

CRASHES = ("kill", "server restart", "server kill")
LARGE_ERROR = 16 * 1024
LARGEST_ERROR = 128 * 1024
"""Bytes: about 20,000 characters of an error are stored, each of which may be escaped as six bytes."""
CONNECTIONS_EACH = 15
"""Connections that every process opens: those of its pools and its listeners."""
CONNECTIONS_A_SECOND = 10
"""Further connections per second, including outages: a client that reconnects without a pause opens hundreds."""
GROWTH = {"files": 15, "threads": 10, "tasks": 30, "memory": 50}
"""Allowed growth of a process from the first half of its life to the second; memory in MB."""


def shutdown_loses_nothing(evidence: Evidence) -> Tally:
    """21. A worker that was asked to stop claims no more jobs, exits within its grace time, and holds no claim then."""
    tally = Tally()
    ends = check_stopping(tally, evidence)
    check_live_workers(tally, evidence)
    tally.counts |= spread("seconds from the stop signal to the end", ends)
    return tally


def crash_anywhere(evidence: Evidence) -> Tally:
    """22. All invariants above hold through crashes. This function counts the crashes."""
    tally = Tally()
    for who, left in evidence.facts.swept.items():
        tally.counts[f"{who} points not met"] = len(left)
    tally.counts["kinds of fault that never happened"] = len(evidence.facts.unharmed)
    for note in evidence.noted("fault"):
        if note.facts["kind"] in CRASHES:
            tally.counts[note.facts["kind"]] = tally.counts.get(note.facts["kind"], 0) + 1
    points = Counter(f"{note.facts['when']} {note.facts['verb']}" for note in evidence.noted("failpoint"))
    tally.counts["failpoints met"] = points.total()
    tally.counts["different failpoints"] = len(points)
    tally.opportunities = int(sum(tally.counts.get(kind, 0) for kind in CRASHES)) + points.total()
    interruptions = len(evidence.noted("interrupted"))
    tally.counts["blocking calls interrupted"] = interruptions
    never = evidence.facts.unharmed or any(evidence.facts.swept.values())
    if evidence.facts.timely and (never or (evidence.facts.interrupted and not interruptions)):
        tally.opportunities = 0  # a failpoint or a kind of fault is missing: not everything was tested
    return tally


def no_starvation(evidence: Evidence) -> Tally:
    """23. A due job is claimed within the limit: a fixed time plus the time to claim the jobs before it."""
    tally = Tally()
    tally.counts |= spread("seconds from due to claimed", check_claim_order(tally, evidence))
    weigh_excuses(tally, evidence)
    return tally


def any_clock(evidence: Evidence) -> Tally:
    """26. All invariants hold with wrong clocks. This function counts the attempts of workers with a wrong clock."""
    if not evidence.facts.own_clock:
        return Tally(reason="this store uses the clock of its clients' machine: they cannot differ")
    tally = Tally()
    skewed = {note.process: note.facts["skew"] for note in evidence.noted("worker") if note.facts.get("skew")}
    tally.opportunities = sum(note.process in skewed for note in evidence.noted("handler"))
    tally.counts["skewed workers"] = len(skewed)
    return tally


def hints_only(evidence: Evidence) -> Tally:
    """27. All invariants hold with lost and repeated wake-ups. This function counts them."""
    tally = Tally()
    latest: dict[str, dict[str, int]] = {}
    for note in evidence.noted("hints"):
        latest[note.process] = note.facts
    for kind in ("dropped", "doubled"):
        tally.counts[kind] = sum(facts[kind] for facts in latest.values())
    both = tally.counts["dropped"] and tally.counts["doubled"]
    tally.opportunities = int(tally.counts["dropped"] + tally.counts["doubled"]) if both else 0
    return tally


def bounded(evidence: Evidence) -> Tally:
    """28. The limits of payloads, errors, claims and connections hold."""
    tally = Tally()
    _check_claims(tally, evidence)
    for call in evidence.called("refuse"):
        if call.outcome == "ok" and call.args.get("large"):
            tally.expect(call.facts["error"] == "PayloadRefused", f"a huge payload got {call.facts['error']}")
    for row in evidence.facts.rows:
        if row.error_bytes:
            tally.expect(row.error_bytes <= LARGEST_ERROR, f"{row.id}: an error of {row.error_bytes} bytes")
    largest = max((row.error_bytes for row in evidence.facts.rows), default=0)
    tally.counts["most bytes of an error"] = largest
    most = evidence.facts.leaks.get("most connections")
    if most is not None:
        limit = evidence.facts.leaks["connection limit"]
        tally.expect(most <= limit, f"{most} connections at once, limit {limit}")
    made = evidence.facts.leaks.get("connections made")
    if made is not None:
        lived = sum(evidence.lives.values()) / 1e6
        # Supervised processes write no beats.
        started = sum(note.facts["kind"] == "process_started" for note in evidence.noted("supervisor"))
        limit = CONNECTIONS_EACH * (len(evidence.lives) + started) + CONNECTIONS_A_SECOND * lived
        reported = f"{made} connections made by {len(evidence.lives)} processes in {lived:.0f} s of their lives"
        tally.expect(made <= limit, f"{reported}, limit {limit:.0f}")
        tally.counts["most connections made in a second of a process"] = round(made / lived, 2) if lived else 0
    if evidence.facts.timely and largest < LARGE_ERROR:
        tally.opportunities = 0  # a long run contains errors that are truncated
    return tally


def _check_claims(tally: Tally, evidence: Evidence) -> None:
    """A claim never gets more jobs than it asks for: its free slots, and the jobs ahead of them."""
    if not evidence.facts.concurrency:
        return
    asked = Counter[str]()
    for note in evidence.noted("claiming"):
        # A claim without an answer is repeated with its token, and each repetition may claim as many as it asks for.
        asked[note.facts["token"]] += note.facts["jobs"]
    # With transaction ids, each repetition counts separately.
    taken = Counter((claim.token, claim.tx, claim.worker) for claim in evidence.changes if is_claim(claim))
    for (token, _, worker), number in taken.items():
        # Supervised workers write no notes.
        limit = asked.get(token or "", max(evidence.facts.concurrency, Store.most_held))
        reported = f"{worker} claimed {number} jobs at once with {token}, limit {limit}"
        if number > limit:
            tally.broken(reported, by_audit=True)
    # A claim of fewer jobs found no more due jobs, so it could not exceed the limit.
    tally.opportunities += sum(number >= evidence.facts.concurrency for number in taken.values())
    tally.counts["most claimed at once"] = max(taken.values(), default=0)


def conservation(evidence: Evidence) -> Tally:
    """29. Every created job is finished, unfinished or deleted, and all counts agree."""
    tally = Tally()
    created = {change.id for change in evidence.changes if change.before is None}
    removed = {change.id for change in evidence.changes if change.after is None}
    tally.expect(
        created - removed == set(evidence.rows),
        f"by the audit {len(created - removed)} jobs, listed {len(evidence.rows)}; "
        f"not in both: {sorted((created - removed) ^ set(evidence.rows))[:5]}",
    )
    counted = Counter(row.status for row in evidence.facts.rows)
    for status in {*counted, *evidence.facts.stats}:
        reported = evidence.facts.stats.get(status, 0)
        tally.expect(reported == counted[status], f"{reported} {status} by the statistics, {counted[status]} listed")
    check_counters(tally, evidence)
    check_snapshots(tally, evidence)
    return tally


def clean_at_rest(evidence: Evidence) -> Tally:
    """30. At the end no job runs or is stuck, no chains block each other, nothing leaked, and all clients work."""
    tally = Tally()
    check_interruptions(tally, evidence)
    tally.expect(evidence.facts.quiet, "due jobs were left after the time limit")
    for row in evidence.facts.rows:
        tally.expect(row.status != "running", f"{row.id} ({row.type}): {row.status} at rest")
        if row.status == "pending" and row.type != "approval" and row.scheduled_at < evidence.facts.ended:
            tally.broken(f"{row.id} ({row.type}): due and pending at rest: {timeline(evidence.by_job.get(row.id, []))}")
        if row.type == "parting":
            waits = f"{row.id} (parting): blocked at rest: its chain and another one wait for each other"
            tally.expect(row.status != "blocked", waits)
    for name, count in evidence.facts.leaks.items():
        if name.startswith("left: "):
            tally.expect(not count, f"{name.removeprefix('left: ')}: {count}")
    for note in evidence.noted("left"):
        waiting = f"{note.process}: {note.facts['running']} calls had not ended long after the load"
        tally.expect_soon(evidence.facts.timely, not note.facts["running"], waiting)
    samples: dict[str, list[dict[str, float]]] = defaultdict(list)
    for note in evidence.noted("sample"):
        samples[note.process].append(note.facts)
    for process, taken in samples.items():
        if len(taken) >= 6:
            for what, allowed in GROWTH.items():
                early = max(sample[what] for sample in taken[: len(taken) // 2])
                late = min(sample[what] for sample in taken[-3:])
                tally.expect(late <= early + allowed, f"{process}: {what} grew from {early} to {late}")
                grown = f"most growth in {what}"
                tally.counts[grown] = round(max(late - early, tally.counts.get(grown, 0)), 1)
    memory = [note.facts["memory"] for note in evidence.noted("sample")]
    tally.counts["most MB of a process"] = round(max(memory, default=0), 1)
    return tally


def kept_apart(evidence: Evidence) -> Tally:
    """32. Another store on the same server is not changed."""
    tally = Tally()
    beside = evidence.facts.neighbour
    if not beside:
        return tally
    tally.expect(
        beside["pending"] == beside["started"] == beside["all"],
        f"of {beside['started']} jobs of the neighbour {beside['all']} exist, {beside['pending']} are pending",
    )
    tally.expect(not set(beside["ids"]) & set(evidence.rows), "jobs of the neighbour are listed here")
    tally.opportunities += beside["started"]
    return tally
