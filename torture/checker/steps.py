"""35: steps, transactional steps, sleeps and cursors, from the notes of handlers, the ledger and the stored steps."""

from __future__ import annotations

from collections import defaultdict

from torture.checker.transitions import timeline
from torture.checker.verdict import Tally
from torture.evidence import Evidence
from torture.history import Note
from torture.step_jobs import EVERY, TRANSACTIONAL, TYPES

JITTER = 300_000
"""Microseconds that a note may lie after the time that the store used for its decision."""


def steps_hold(evidence: Evidence) -> Tally:
    """35. The writes of a transactional step exist once if its checkpoint exists. A stored result never changes."""
    tally = Tally()
    ran, values = _by_id(evidence, "step ran"), _by_id(evidence, "step value")
    began, retried = _beginnings(evidence), _retried_from_a_step(evidence)
    for id, known in values.items():
        _check_result(tally, evidence, ran.get(id, []), known)
        first = min(note.at for note in known)
        for note in ran.get(id, []):
            claimed = began.get((note.facts["job"], note.facts["token"]), 0)
            removed = note.facts["job"] in retried and _retried_between(evidence, note.facts["job"], claimed, note.at)
            if claimed > first and not removed:
                reported = f"{_named(note)} ran in an attempt that began after its result was stored"
                tally.broken(f"{reported}: token {note.facts['token'][:6]}, {_timeline(evidence, note)}")
    tally.counts["steps"] = len(values)
    tally.counts["steps that ran more than once"] = sum(len(notes) > 1 for notes in ran.values())
    tally.counts["results that a later attempt got"] = sum(_tokens(notes) > 1 for notes in values.values())
    _check_ledger(tally, evidence, values)
    _check_stored(tally, evidence, values)
    _check_sleeps(tally, evidence)
    _check_cursors(tally, evidence)
    _check_suspended(tally, evidence)
    if not tally.counts["results that a later attempt got"]:
        tally.opportunities = 0
    return tally


def _beginnings(evidence: Evidence) -> dict[tuple[str, str], int]:
    """When each attempt began: at its claim. A worker that is frozen after the claim calls the handler much later."""
    claims = {(each.id, each.token): each.at for each in evidence.changes if each.before != each.after == "running"}
    attempts = {(note.facts["job"], note.facts["token"]): note.at for note in evidence.noted("handler")}
    return {attempt: claims.get(attempt, called) for attempt, called in attempts.items()}


def _retried_from_a_step(evidence: Evidence) -> set[str]:
    """The jobs that operators tried to retry from a step."""
    return {call.args["job"] for call in evidence.called("retry") if call.args.get("from_step")}


def _retried_between(evidence: Evidence, job: str, claimed: int, ran: int) -> bool:
    """Whether an operator retried the job after this claim and before the step ran.

    The retry may have removed the result. The claim was lost by then: its worker was frozen, and has the epoch of the
    claim, so the step has the same idempotency key.
    """
    return any(
        claimed < change.at < ran and change.before in ("failed", "cancelled") and change.after == "pending"
        for change in evidence.by_job.get(job, [])
    )


def _check_result(tally: Tally, evidence: Evidence, ran: list[Note], known: list[Note]) -> None:
    """All attempts get one result, and it is of an attempt that ran the step."""
    results = {note.facts["value"] for note in known}
    reported = f"{_named(known[0])} had the results {sorted(results)}: {_timeline(evidence, known[0])}"
    tally.expect(len(results) == 1, reported)
    tokens = {note.facts["token"] for note in ran}
    if not results <= tokens:
        tally.broken(f"{_named(known[0])} has a result of {sorted(results - tokens)}, and ran in {sorted(tokens)}")


def _check_ledger(tally: Tally, evidence: Evidence, values: dict[str, list[Note]]) -> None:
    if not evidence.facts.transactional:
        return
    ledger: dict[str, list[str]] = defaultdict(list)
    for job, name, id, token in evidence.facts.step_ledger:
        ledger[id].append(token)
        if len(ledger[id]) == 2:
            tally.broken(f"the transactional step {name!r} of {job} has written twice")
    for id, known in values.items():
        if known[0].facts["name"] in TRANSACTIONAL:
            result = known[0].facts["value"]
            reported = f"{_named(known[0])} has the result {result}, its rows are of {ledger.get(id, [])}"
            tally.expect(ledger.get(id) == [result], f"{reported}: {_timeline(evidence, known[0])}")


def _check_stored(tally: Tally, evidence: Evidence, values: dict[str, list[Note]]) -> None:
    """The steps that are stored at the end, of jobs that were not retried from a step."""
    retried = _retried_from_a_step(evidence)
    stored = {(job, name, each): result for job, name, each, result in evidence.facts.steps}
    for known in values.values():
        job = known[0].facts["job"]
        if job in evidence.rows and job not in retried:
            name, result = known[0].facts["name"], known[0].facts["value"]
            found = {of for (id, named, _), of in stored.items() if (id, named) == (job, name)}
            tally.expect(
                result in found, f"{_named(known[0])} had the result {result}, {sorted(map(str, found))} is stored"
            )
    if evidence.facts.transactional:
        for job, name, _, token in evidence.facts.step_ledger:
            if job in evidence.rows and job not in retried:
                reported = f"{job}: {name!r} wrote under {token}, {stored.get((job, name, ''))} is stored"
                tally.expect(stored.get((job, name, "")) == token, reported)


def _check_sleeps(tally: Tally, evidence: Evidence) -> None:
    """A sleep lasts as long as it should, unless the job was made due or retried."""
    made_due = {call.args["chain"] for call in evidence.called("run_now")}
    made_due |= {call.args["job"] for call in evidence.called("retry")}
    begun: dict[str, Note] = {}
    for note in evidence.noted("sleeping", "slept"):
        first = begun.setdefault(note.facts["job"], note)
        if note.what == "slept" and note.facts["job"] not in made_due and note.facts["chain"] not in made_due:
            early = first.at + first.facts["seconds"] * 1e6 - note.at
            tally.expect(early < JITTER, f"{note.facts['job']}: slept {early / 1e6:.2f} s less than asked")


def _check_cursors(tally: Tally, evidence: Evidence) -> None:
    """An attempt repeats at most the items since the last saved position of an earlier attempt.

    A worker that was frozen after its claim may call the handler when another attempt has begun. It then reads the
    positions of that attempt, and can save none.
    """
    began = _beginnings(evidence)
    spans: dict[str, dict[str, list[Note]]] = defaultdict(lambda: defaultdict(list))
    for note in evidence.noted("item"):
        spans[note.facts["job"] + note.facts["id"]][note.facts["token"]].append(note)
    for key, by_token in spans.items():
        job = key[:-32]
        claims = {token: began.get((job, token), 0) for token in by_token}
        saved = 0
        for token in sorted(by_token, key=claims.__getitem__):
            items = [note.facts["item"] for note in by_token[token]]
            reported = f"{job}: a cursor began with item {items[0]}, position {saved} was saved"
            tally.expect(items[0] >= saved, reported)
            if items != list(range(items[0], items[0] + len(items))):
                tally.broken(f"{job}: a cursor returned {items}")
            if not any(claims[token] < other < by_token[token][0].at for other in claims.values()):
                saved = max(saved, items[-1] // EVERY * EVERY)


def _check_suspended(tally: Tally, evidence: Evidence) -> None:
    """By the audit alone: a suspended job has no worker and no lease. More jobs than the limit may be suspended."""
    asleep: set[str] = set()
    most = 0
    for change in evidence.changes:
        if change.type not in TYPES:
            continue
        if change.before == "running" and change.after == "pending" and change.attempt < change.attempt_before:
            asleep.add(change.id)
            held = change.worker is not None or change.leased_until is not None
            tally.expect(not held, f"{change.id}: suspended and held by {change.worker}", by_audit=True)
        elif change.after != "pending":
            asleep.discard(change.id)
        most = max(most, len(asleep))
    tally.counts["most jobs suspended at once"] = most


def _by_id(evidence: Evidence, what: str) -> dict[str, list[Note]]:
    found: dict[str, list[Note]] = defaultdict(list)
    for note in evidence.noted(what):
        found[note.facts["id"]].append(note)
    return found


def _tokens(notes: list[Note]) -> int:
    return len({note.facts["token"] for note in notes})


def _named(note: Note) -> str:
    return f"{note.facts['job']}: step {note.facts['name']!r}"


def _timeline(evidence: Evidence, note: Note) -> str:
    return timeline(evidence.by_job.get(note.facts["job"], []))
