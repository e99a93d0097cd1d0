"""21 to 32: shutting down, crashing, waiting one's turn, counting, coming to rest, keeping apart."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from itertools import accumulate

from torture.checker.execution import TICK, spread
from torture.checker.telling import is_claim, story
from torture.checker.verdict import Tally
from torture.evidence import Evidence
from torture.spans import Spans

CRASHES = ("kill", "failpoint kill", "server restart", "server kill")
LAST_CLAIM = 2_000_000
"""Microseconds for a claim that was on its way when the order to stop came, besides what a job may block the loop."""
LAST_WORDS = 5_000_000
"""Microseconds in which a worker that ends writes its outcomes; on a slow machine it leaves them to the leases."""
UNANSWERED = 6_000_000
"""Microseconds for which a call may be on its way before it is given up, and be performed all the same."""
KILLED = (-9, 139)
"""Exits of a worker that was killed while it wound down, by a failpoint or by a job."""
LARGEST_ERROR = 256 * 1024
SLOWEST_PACE = 20.0
"""Claims a second, at the least, of a whole fleet that is being killed."""
GROWTH = {"files": 15, "threads": 10, "tasks": 30, "memory": 50}
"""By how much a process may hold more in the second half of its life than in the first; memory in MB."""


def shutdown_loses_nothing(evidence: Evidence) -> Tally:
    """21. A worker that was asked to stop claims no more, and holds nothing when it has ended well."""
    tally = Tally()
    claims: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for change in evidence.changes:
        if is_claim(change) and change.worker is not None:
            claims[change.worker].append((change.at, change.id))
    heard = {note.process: note.at for note in evidence.noted("event") if note.facts["kind"] == "worker_stopping"}
    doubts: dict[str, list[int]] = defaultdict(list)
    for note in evidence.noted("failpoint"):
        doubts[note.process].append(note.at)
    for note in evidence.noted("exit"):
        asked, worker = note.facts.get("asked"), note.facts["worker"]
        if asked is None:
            continue
        allowed = LAST_CLAIM + round((2 * evidence.facts.lease + evidence.facts.slack) * 1e6)
        late = [job_id for at, job_id in claims[worker] if at > asked + allowed + evidence.still(worker, asked, at)]
        kept = [job_id for job_id in late if not _given_back(evidence, job_id, worker)]
        told = f"{worker} claimed {kept} after it was asked to stop"
        tally.expect_soon(evidence.facts.timely, not kept, told)
        _check_heard(tally, evidence, worker, heard.get(worker), claims[worker])
        if note.facts["code"] in KILLED:
            continue
        if note.facts["code"] != 0:
            tally.broken(f"{worker} was asked to stop and ended with {note.facts['code']}")
            continue
        held = [job_id for _, job_id in claims[worker] if _held(evidence, job_id, worker, note.at)]
        # A claim whose answer never came is one that it does not know of.
        since = asked - round(evidence.facts.lease * 1e6)
        unsure = any(at > since for at in doubts[worker]) or evidence.away(since, note.at) > 0
        hurried = not evidence.facts.timely and note.at - asked > LAST_WORDS
        if held and not unsure and not hurried:
            tally.broken(f"{worker} ended well and still held {held}")
    return tally


def _check_heard(
    tally: Tally, evidence: Evidence, worker: str, heard: int | None, claims: list[tuple[int, str]]
) -> None:
    """Once it has heard the order nothing is claimed any more, but what lay about in a store that did not answer."""
    if heard is not None:
        after = [job_id for at, job_id in claims if at > heard + TICK and not evidence.away(heard - UNANSWERED, at)]
        tally.expect(not after, f"{worker} claimed {after} although it knew that it was to stop")


def _given_back(evidence: Evidence, job_id: str, worker: str) -> bool:
    """Whether the last claim of a worker was released: one that was on its way when the order came."""
    changes = evidence.by_job[job_id]
    place = max(n for n, change in enumerate(changes) if is_claim(change) and change.worker == worker)
    following = changes[place + 1 :]
    return bool(following) and following[0].after == "pending" and following[0].attempt < following[0].attempt_before


def _held(evidence: Evidence, job_id: str, worker: str, moment: int) -> bool:
    standing = [change for change in evidence.by_job[job_id] if change.at <= moment]
    return bool(standing) and standing[-1].after == "running" and standing[-1].worker == worker


def crash_anywhere(evidence: Evidence) -> Tally:
    """22. Everything above, through crashes: this counts them."""
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
    if evidence.facts.timely and (evidence.facts.unharmed or any(evidence.facts.swept.values())):
        tally.opportunities = 0  # some point was never the last, some harm never came: not everything was shown
    return tally


def no_starvation(evidence: Evidence) -> Tally:
    """23. A due job is claimed within the bound: a while, and what it takes to claim those that were before it."""
    tally = Tally()
    while_idle = 10 * (evidence.facts.lease + evidence.facts.poll) + evidence.facts.slack
    claims = sorted(change.at for change in evidence.changes if is_claim(change))
    idle = Spans([*evidence.outages.all, *evidence.nobody.all])
    paused = Spans([*idle.all, *_pauses(evidence)])
    waits: list[float] = []
    for job_id, changes in evidence.by_job.items():
        due: int | None = None
        for change in changes:
            if change.after == "pending" and change.before != "pending":
                due = max(change.at, change.scheduled_at or 0)
            elif change.after == "pending" and change.scheduled_at is not None:
                due = max(change.at, change.scheduled_at)
            elif is_claim(change) and due is not None and change.type != "elastic":
                away = (paused if change.type == "keyed" else idle).within(due, change.at)
                waited = (change.at - due - away) / 1e6
                waits.append(waited)
                others = bisect_left(claims, change.at) - bisect_left(claims, due)
                bound = while_idle + others / SLOWEST_PACE
                told = f"{job_id}: due for {waited:.1f} s, bound {bound:g} s: {story(changes)}"
                tally.expect_soon(evidence.facts.timely, waited <= bound, told)
    tally.counts |= spread("seconds from due to claimed", waits)
    return tally


def _pauses(evidence: Evidence) -> list[tuple[int, int]]:
    """When the one type that is ever paused may have been: until somebody resumed it for certain."""
    resumed = sorted(call.ended or 0 for call in evidence.called("resume") if call.outcome == "ok")
    spans: list[tuple[int, int]] = []
    for call in evidence.called("pause"):
        place = bisect_left(resumed, call.ended or call.begun)
        spans.append((call.begun, resumed[place] if place < len(resumed) else evidence.facts.ended))
    return spans


def any_clock(evidence: Evidence) -> Tally:
    """26. Workers whose clocks are wrong change nothing: this counts their attempts."""
    if not evidence.facts.own_clock:
        return Tally(reason="this store's clock is that of its clients' machine: they cannot differ")
    tally = Tally()
    skewed = {note.process: note.facts["skew"] for note in evidence.noted("worker") if note.facts.get("skew")}
    tally.opportunities = sum(note.process in skewed for note in evidence.noted("handler"))
    tally.counts["skewed workers"] = len(skewed)
    return tally


def hints_only(evidence: Evidence) -> Tally:
    """27. Wake-ups that are lost or come twice cost time only: this counts them."""
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
    """28. Payloads, errors and connections have limits that hold."""
    tally = Tally()
    for call in evidence.called("refuse"):
        if call.outcome == "ok" and call.args.get("large"):
            tally.expect(call.facts["error"] == "PayloadRefused", f"a huge payload was met with {call.facts['error']}")
    for row in evidence.facts.rows:
        if row.error_bytes:
            tally.expect(row.error_bytes <= LARGEST_ERROR, f"{row.id}: an error of {row.error_bytes} bytes")
    most = evidence.facts.leaks.get("most connections")
    if most is not None:
        limit = evidence.facts.leaks["connection limit"]
        tally.expect(most <= limit, f"{most} connections at once, limit {limit}")
    return tally


def conservation(evidence: Evidence) -> Tally:
    """29. What was created is finished or unfinished, and every way of counting agrees."""
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
        told = evidence.facts.stats.get(status, 0)
        tally.expect(told == counted[status], f"{told} {status} by the statistics, {counted[status]} listed")
    _check_snapshots(tally, evidence)
    return tally


def _check_snapshots(tally: Tally, evidence: Evidence) -> None:
    """What somebody counted meanwhile: no fewer than were known by then and are not gone."""
    known = sorted(
        (call.ended, len(call.args["ids"]) - sum(call.facts["deduplicated"]))
        for call in evidence.called("start")
        if call.outcome == "ok" and call.ended is not None
    )
    moments = [ended for ended, _ in known]
    sums = [0, *accumulate(number for _, number in known)]
    gone = sorted(change.at for change in evidence.changes if change.after is None)
    for call in evidence.called("stats"):
        if call.outcome == "ok" and call.ended is not None:
            least = sums[bisect_left(moments, call.begun)] - bisect_right(gone, call.ended)
            tally.expect(
                call.facts["total"] >= least, f"a snapshot shows {call.facts['total']} jobs of at least {least}"
            )


def clean_at_rest(evidence: Evidence) -> Tally:
    """30. Afterwards nothing runs, nothing is stuck, nobody waits, and nothing was leaked."""
    tally = Tally()
    tally.expect(evidence.facts.quiet, "the store did not come to rest within the bound")
    for row in evidence.facts.rows:
        tally.expect(row.status != "running", f"{row.id} ({row.type}): {row.status} at rest")
        if row.status == "pending" and row.type != "approval" and row.scheduled_at < evidence.facts.ended:
            tally.broken(f"{row.id} ({row.type}): due and pending at rest: {story(evidence.by_job.get(row.id, []))}")
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
    """32. Another store beside this one, on the same server, is not touched."""
    tally = Tally()
    beside = evidence.facts.neighbour
    if not beside:
        return tally
    tally.expect(
        beside["pending"] == beside["started"] == beside["all"],
        f"of {beside['started']} jobs next door {beside['all']} are there, {beside['pending']} still pending",
    )
    tally.expect(not set(beside["ids"]) & set(evidence.rows), "jobs of the neighbour are listed here")
    tally.opportunities += beside["started"]
    return tally
