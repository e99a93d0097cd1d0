"""How workers end that were asked to: at once deaf to new work, soon gone, and with nothing in their hands."""

from __future__ import annotations

from collections import defaultdict

from torture.checker.execution import TICK
from torture.checker.telling import is_claim
from torture.checker.verdict import Tally
from torture.evidence import Evidence
from torture.history import Note

ROUND_TRIP = 500_000
"""Microseconds for a claim that was on its way when the order came; what it took is given back."""
LAST_WORDS = 5_000_000
"""Microseconds in which a worker that ends writes its outcomes; on a slow machine it leaves them to the leases."""
UNANSWERED = 6_000_000
"""Microseconds for which a call may be on its way before it is given up, and be performed all the same."""
BLOCKED = 2
"""Leases for which a job of the workload may keep its worker's loop from turning, and so from hearing the order."""
KILLED = (-9, 139)
"""Exits of a worker that was killed while it wound down, by a failpoint or by a job."""
BROKE = 1
"""Exit of a worker that an exception ended."""

Claims = list[tuple[int, str]]


def check_stopping(tally: Tally, evidence: Evidence) -> list[float]:
    """Judge each worker that was asked to stop; answers in how many seconds they ended.

    Only one that had jobs in flight, and that nothing excuses, is an opportunity.
    """
    claims: dict[str, Claims] = defaultdict(list)
    for change in evidence.changes:
        if is_claim(change) and change.worker is not None:
            claims[change.worker].append((change.at, change.id))
    received = {note.process: note.at for note in evidence.noted("event") if note.facts["kind"] == "worker_stopping"}
    doubts: dict[str, list[int]] = defaultdict(list)
    for note in evidence.noted("failpoint"):
        doubts[note.process].append(note.at)
    for note in evidence.noted("exit"):
        if note.facts.get("asked") is None and note.facts["code"] == BROKE:
            tally.broken(f"{note.facts['worker']} ended by itself, with an exception")
    orders = [note for note in evidence.noted("exit") if note.facts.get("asked") is not None]
    tally.counts["asked to stop"] = len(orders)
    ends: list[float] = []
    for note in orders:
        asked, worker = note.facts["asked"], note.facts["worker"]
        _check_claims(tally, evidence, note, received.get(worker), claims[worker])
        if note.facts["code"] in KILLED:
            continue
        if note.facts["code"] != 0:
            tally.broken(f"{worker} was asked to stop and ended with {note.facts['code']}")
            continue
        if _harmed(evidence, doubts[worker], asked, note.at):
            continue  # whom a failpoint freezes, or no store answers, ends late
        ends.append(_check_end(tally, evidence, note, received.get(worker)))
        tally.opportunities += any(_held(evidence, job_id, worker, asked) for _, job_id in claims[worker])
        # A claim whose answer never came is one that it does not know of.
        unsure = _harmed(evidence, doubts[worker], asked - round(evidence.facts.lease * 1e6), note.at)
        hurried = not evidence.facts.timely and note.at - asked > LAST_WORDS
        held = [job_id for _, job_id in claims[worker] if _held(evidence, job_id, worker, note.at)]
        if held and not unsure and not hurried:
            tally.broken(f"{worker} ended well and still held {held}")
    return ends


def _check_claims(tally: Tally, evidence: Evidence, exit: Note, received: int | None, claims: Claims) -> None:
    """It hears the order soon, and from then on claims nothing, but what lay about in a store that did not answer."""
    asked, worker = exit.facts["asked"], exit.facts["worker"]
    deafest = round((BLOCKED * evidence.facts.lease + evidence.facts.slack) * 1e6)
    known = exit.at if received is None else received
    deaf = known - asked - evidence.still(worker, asked, known)
    if deaf > deafest and (received is not None or any(at > asked + deafest for at, _ in claims)):
        _late(tally, evidence, f"{worker} heard only after {deaf / 1e6:.1f} s that it was to stop")
    if received is None:
        return
    for at, job_id in claims:
        if at > received + TICK and not evidence.away(received - UNANSWERED, at):
            passing = at <= received + ROUND_TRIP + evidence.still(worker, received, at)
            if not passing or not _given_back(evidence, job_id, worker):
                tally.broken(
                    f"{worker} claimed {job_id} {(at - received) / 1e6:.3f} s after it knew that it was to stop"
                )


def _check_end(tally: Tally, evidence: Evidence, exit: Note, received: int | None) -> float:
    """It is gone within the grace that it gives to what it runs."""
    worker, begun = exit.facts["worker"], exit.facts["asked"] if received is None else received
    took = (exit.at - begun - evidence.still(worker, begun, exit.at)) / 1e6
    bound = evidence.facts.grace + evidence.facts.slack
    if took > bound:
        _late(tally, evidence, f"{worker} took {took:.1f} s to end, bound {bound:g} s")
    return took


def _harmed(evidence: Evidence, failpoints: list[int], begun: int, ended: int) -> bool:
    return any(at > begun for at in failpoints) or evidence.away(begun, ended) > 0


def _late(tally: Tally, evidence: Evidence, reported: str) -> None:
    if evidence.facts.timely:
        tally.broken(reported)
    else:
        tally.counts["late"] = tally.counts.get("late", 0) + 1


def _given_back(evidence: Evidence, job_id: str, worker: str) -> bool:
    """Whether the last claim of a worker was released: one that was on its way when the order came."""
    changes = evidence.by_job[job_id]
    place = max(n for n, change in enumerate(changes) if is_claim(change) and change.worker == worker)
    following = changes[place + 1 :]
    return bool(following) and following[0].after == "pending" and following[0].attempt < following[0].attempt_before


def _held(evidence: Evidence, job_id: str, worker: str, moment: int) -> bool:
    standing = [change for change in evidence.by_job[job_id] if change.at <= moment]
    return bool(standing) and standing[-1].after == "running" and standing[-1].worker == worker
