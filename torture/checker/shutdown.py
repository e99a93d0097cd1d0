"""Workers that were asked to stop: they claim no more jobs, exit in time, and hold no claims then."""

from __future__ import annotations

from collections import defaultdict

from torture.checker.execution import TICK
from torture.checker.transitions import is_claim
from torture.checker.verdict import Tally
from torture.evidence import Evidence
from torture.history import Note

ROUND_TRIP = 500_000
"""Microseconds for a claim that was sent before the worker stopped claiming; its jobs must be released."""
SETTLING = 5_000_000
"""Microseconds in which a stopping worker settles its jobs; on a slow machine it lets their leases expire instead."""
UNANSWERED = 6_000_000
"""Microseconds after which a call without an answer times out, although the store may still perform it."""
BLOCKED = 2
"""Leases for which a job of the workload may block the event loop of its worker, and thereby the signal handler."""
KILLED = (-9, 139)
"""Exit codes of a worker that a failpoint or a job killed while it stopped."""
BROKE = 1
"""Exit code after an unhandled exception."""

Claims = list[tuple[int, str]]


def check_stopping(tally: Tally, evidence: Evidence) -> list[float]:
    """Check each worker that was asked to stop; returns how many seconds each needed.

    Only a worker with running jobs and without an excuse is an opportunity.
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
        if _disturbed(evidence, doubts[worker], asked, note.at):
            continue  # a frozen worker, or one without a store, ends late
        ends.append(_check_end(tally, evidence, note, received.get(worker)))
        tally.opportunities += any(_held(evidence, job_id, worker, asked) for _, job_id in claims[worker])
        # The worker does not know a claim whose answer was lost.
        unsure = _disturbed(evidence, doubts[worker], asked - round(evidence.facts.lease * 1e6), note.at)
        grace_ended = not evidence.facts.timely and note.at - asked > SETTLING
        held = [job_id for _, job_id in claims[worker] if _held(evidence, job_id, worker, note.at)]
        if held and not unsure and not grace_ended:
            tally.broken(f"{worker} exited with 0 and still held {held}")
    return ends


def _check_claims(tally: Tally, evidence: Evidence, exit: Note, received: int | None, claims: Claims) -> None:
    """The worker handles the signal soon. From then on it claims no jobs, except by calls that were already sent."""
    asked, worker = exit.facts["asked"], exit.facts["worker"]
    bound = round((BLOCKED * evidence.facts.lease + evidence.facts.slack) * 1e6)
    known = exit.at if received is None else received
    delay = known - asked - evidence.still(worker, asked, known)
    if delay > bound and (received is not None or any(at > asked + bound for at, _ in claims)):
        _late(tally, evidence, f"{worker} handled the stop signal only after {delay / 1e6:.1f} s")
    if received is None:
        return
    for at, job_id in claims:
        if at > received + TICK and not evidence.away(received - UNANSWERED, at):
            passing = at <= received + ROUND_TRIP + evidence.still(worker, received, at)
            if not passing or not _given_back(evidence, job_id, worker):
                tally.broken(
                    f"{worker} claimed {job_id} {(at - received) / 1e6:.3f} s after it handled the stop signal"
                )


def _check_end(tally: Tally, evidence: Evidence, exit: Note, received: int | None) -> float:
    """The worker exits within the grace time of its handlers."""
    worker, begun = exit.facts["worker"], exit.facts["asked"] if received is None else received
    took = (exit.at - begun - evidence.still(worker, begun, exit.at)) / 1e6
    bound = evidence.facts.grace + evidence.facts.slack
    if took > bound:
        _late(tally, evidence, f"{worker} took {took:.1f} s to end, bound {bound:g} s")
    return took


def _disturbed(evidence: Evidence, failpoints: list[int], begun: int, ended: int) -> bool:
    return any(at > begun for at in failpoints) or evidence.away(begun, ended) > 0


def _late(tally: Tally, evidence: Evidence, reported: str) -> None:
    if evidence.facts.timely:
        tally.broken(reported)
    else:
        tally.counts["late"] = tally.counts.get("late", 0) + 1


def _given_back(evidence: Evidence, job_id: str, worker: str) -> bool:
    """Whether the last claim of a worker was released."""
    changes = evidence.by_job[job_id]
    place = max(n for n, change in enumerate(changes) if is_claim(change) and change.worker == worker)
    following = changes[place + 1 :]
    return bool(following) and following[0].after == "pending" and following[0].attempt < following[0].attempt_before


def _held(evidence: Evidence, job_id: str, worker: str, moment: int) -> bool:
    standing = [change for change in evidence.by_job[job_id] if change.at <= moment]
    return bool(standing) and standing[-1].after == "running" and standing[-1].worker == worker
