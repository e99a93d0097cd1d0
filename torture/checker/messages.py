"""36: messages, from the calls of senders and the notes of handlers."""

from __future__ import annotations

from collections import defaultdict

from torture.checker.execution import spread
from torture.checker.verdict import Tally
from torture.evidence import Evidence
from torture.history import Call, Note


def messages_hold(evidence: Evidence) -> Tally:
    """36. The first committed value of a name is the only one, and a job that waits for it runs again soon."""
    tally = Tally()
    sends: dict[str, list[Call]] = defaultdict(list)
    for call in evidence.called("send"):
        sends[call.args["chain"]].append(call)
    notes: dict[str, list[Note]] = defaultdict(list)
    for note in evidence.noted("receiving", "received"):
        notes[note.facts["chain"]].append(note)
    # A retry from a step removes the message: then another value may be the first one.
    removed = {call.args["job"] for call in evidence.called("retry") if call.args.get("from_step")}
    waits: list[float] = []
    for chain in sends.keys() | notes.keys():
        sent, noted = sends.get(chain, []), notes.get(chain, [])
        _check_senders(tally, chain, sent, noted)
        if chain not in removed:
            _check_first(tally, chain, sent, noted)
            _check_timeout(tally, chain, sent, noted)
            waits += _check_wake(tally, evidence, chain, sent, noted)
    tally.counts |= spread("seconds from a message to its receiver", waits)
    return tally


def _check_senders(tally: Tally, chain: str, sent: list[Call], noted: list[Note]) -> None:
    """A received value was sent, and a value that came too late has an earlier one."""
    values = {call.args["value"] for call in sent if call.outcome != "fail"}
    for note in noted:
        value = note.facts.get("value")
        if value is not None:
            tally.expect(value in values, f"{chain}: received {value}, which no one sent")
    may = [call for call in sent if call.outcome == "info" or call.facts.get("first")]
    for call in sent:
        if call.outcome == "ok" and not call.facts["first"]:
            tally.expect(bool(may), f"{chain}: {call.args['value']} is no first value, and no other one was stored")


def _check_first(tally: Tally, chain: str, sent: list[Call], noted: list[Note]) -> None:
    firsts = [call.args["value"] for call in sent if call.outcome == "ok" and call.facts["first"]]
    unknown = [call.args["value"] for call in sent if call.outcome == "info"]
    tally.expect(len(firsts) <= 1, f"{chain}: {len(firsts)} values are the first one: {firsts}")
    received = {note.facts["value"] for note in noted if note.what == "received"}
    tally.expect(len(received) <= 1, f"{chain}: received {sorted(map(str, received))}")
    if firsts and not received <= {None, *firsts}:
        tally.broken(f"{chain}: received {received}, the first value is {firsts[0]}; unknown {unknown}")


def _check_timeout(tally: Tally, chain: str, sent: list[Call], noted: list[Note]) -> None:
    """A message that was acknowledged before the first receive began is received."""
    waiting = next((note for note in noted if note.what == "receiving"), None)
    early = [call for call in sent if call.outcome == "ok" and call.facts["first"]]
    if waiting is None or not early or early[0].ended is None or early[0].ended > waiting.at:
        return
    lost = any(note.what == "received" and note.facts["value"] is None for note in noted)
    tally.expect(not lost, f"{chain}: timed out, although {early[0].args['value']} had been sent before")


def _check_wake(tally: Tally, evidence: Evidence, chain: str, sent: list[Call], noted: list[Note]) -> list[float]:
    """A job that waited when its message was sent gets it soon."""
    bound = 10 * (evidence.facts.lease + evidence.facts.poll) + evidence.facts.slack
    received = next((note for note in noted if note.what == "received" and note.facts["value"] is not None), None)
    waiting = next((note for note in noted if note.what == "receiving"), None)
    call = next((call for call in sent if call.outcome == "ok" and call.facts["first"]), None)
    if received is None or waiting is None or call is None or call.ended is None or call.begun < waiting.at:
        return []
    waited = (received.at - call.ended - evidence.unattended(call.ended, received.at)) / 1e6
    reported = f"{chain}: received a message {waited:.1f} s after it was sent, bound {bound:g} s"
    tally.expect_soon(evidence.facts.timely, waited <= bound, reported)
    return [max(waited, 0.0)]
