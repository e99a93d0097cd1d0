"""18: waiters, what they were told and how soon; also for whoever measures them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from torture.audit import Change, Row
from torture.checker.answers import by_then, during
from torture.checker.execution import TICK, spread
from torture.checker.telling import FINISHED, ends, story
from torture.checker.verdict import Tally
from torture.evidence import Evidence
from torture.history import Call

LOOK_WITHOUT_WAKEUP = 5.0
"""Seconds between two looks of a waiter that hears nothing (holdfast.client.waiting.POLL)."""

SENT = 1_000_000
"""Microseconds in which a process that goes on has sent what it meant to send."""


class Wait(NamedTuple):
    """A waiter that was told how its chain ended."""

    call: Call
    answered: int
    deaf: bool
    end: Change
    teller: str
    """The process that ended the chain, and so was to send the wake-up; empty if nobody knows."""
    knew: int | None
    """When it knew that it had."""

    def untold(self, evidence: Evidence) -> bool:
        """Whether nobody was left to send a wake-up: who ended the chain died or froze before it knew that it had."""
        knew = self.knew is not None and self.knew < self.answered
        return not knew and evidence.stood_still(self.teller, self.end.at, self.answered)

    def hinted(self, evidence: Evidence) -> bool:
        """Whether a wake-up was sent for certain: who ended the chain knew that it had, and lived on."""
        if self.knew is None or self.knew >= self.answered or evidence.last_beat(self.teller) is None:
            return False  # in a simulation nobody shows signs of life, and wake-ups may be lost by all
        return not evidence.stood_still(self.teller, self.knew, min(self.answered, self.knew + SENT))


def reported_waits(evidence: Evidence) -> Iterator[Wait]:
    """Those that were told of an end that had been written by then."""
    settled = {
        (note.process, note.facts["job"]): note.at for note in evidence.noted("settled") if note.facts["written"]
    }
    meddling: dict[str, list[Call]] = defaultdict(list)
    for call in evidence.called("cancel", "complete"):
        if call.outcome == "ok":
            meddling[call.args["chain"]].append(call)
    for call in evidence.called("wait"):
        reported, chain = call.facts.get("status"), call.args["chain"]
        if call.outcome != "ok" or call.ended is None or reported not in FINISHED:
            continue
        known = [each for each in evidence.by_chain.get(chain, []) if ends(each) and each.after == reported]
        known = [each for each in known if each.at <= call.ended + TICK]
        if not known:
            continue
        end = known[-1]
        teller, knew = end.worker_before or "", settled.get((end.worker_before or "", end.id))
        if end.token is None:  # nobody's settlement
            by_call = [(each.process, each.ended) for each in meddling[chain] if during(each, [end])]
            teller, knew = by_call[0] if by_call else (teller, None)
        yield Wait(call, call.ended, bool(call.args.get("deaf")), end, teller, knew)


def waiters_wake(evidence: Evidence) -> Tally:
    """18. A waiter is told how the chain ended, soon after it did, or that its own time was up before."""
    tally = Tally()
    timely, bound = evidence.facts.timely, LOOK_WITHOUT_WAKEUP + evidence.facts.slack
    _check_ends(tally, evidence)
    for call in evidence.called("wait"):
        chain, reported = call.args["chain"], call.facts.get("status")
        changes = evidence.by_chain.get(chain, [])
        if call.outcome == "fail":
            tally.expect(False, f"waiter of {chain} was met with {call.facts.get('error')}: {story(changes)}")
        elif call.ended is None:
            _check_unanswered(tally, evidence, call)
        elif call.outcome != "ok":
            continue
        elif reported in FINISHED:
            match = [each for each in changes if ends(each) and each.after == reported]
            tally.expect(by_then(call, match), f"waiter of {chain} was told {reported}: {story(changes)}")
        elif reported == "timeout":
            end = _last_end(evidence, chain)
            slept = 0.0 if end is None else _waited(evidence, call, end)
            tally.expect_soon(timely, slept <= bound, f"waiter of {chain} gave up {slept:.1f} s after it had ended")
            over = _waited(evidence, call, call.begun) - call.args["timeout"]
            tally.expect_soon(timely, over <= bound, f"waiter of {chain} was kept {over:.1f} s beyond its own time")
        else:
            gone = [each for each in changes if each.after is None]
            tally.expect(by_then(call, gone), f"waiter of {chain} was told that there is none: {story(changes)}")
    return tally


def _check_unanswered(tally: Tally, evidence: Evidence, call: Call) -> None:
    """One that is still asleep: its process did not live until the waiter's own time was up."""
    last = max(evidence.last_beat(call.process) or 0, call.begun)
    over = (last - call.begun - evidence.still(call.process, call.begun, last)) / 1e6 - call.args["timeout"]
    bound = LOOK_WITHOUT_WAKEUP + evidence.facts.slack
    if over > bound:
        reported = f"waiter of {call.args['chain']} never returned, {over:.1f} s after its own time"
        tally.expect_soon(evidence.facts.timely, False, reported)


def _check_ends(tally: Tally, evidence: Evidence) -> None:
    """Soon: at once where a wake-up came, after a look where none did. All are given the same output."""
    late: dict[bool, list[float]] = {False: [], True: []}
    results = _results(evidence)
    for wait in reported_waits(evidence):
        call, chain = wait.call, wait.end.chain
        waited = _waited(evidence, call, wait.end.at)
        late[wait.deaf].append(waited)
        bound = LOOK_WITHOUT_WAKEUP + evidence.facts.slack
        reported = f"waiter of {chain} was told {waited:.1f} s after it ended, bound {bound:g} s"
        tally.expect_soon(evidence.facts.timely, waited <= bound, reported)
        if not wait.deaf and wait.hinted(evidence):
            since = _waited(evidence, call, max(wait.end.at, wait.knew or 0))
            reported = f"waiter of {chain} was told {since:.1f} s after a wake-up was sent for it"
            tally.expect_soon(evidence.facts.timely, since <= evidence.facts.slack, reported)
        output, kept = call.facts.get("output"), results.get(chain)
        if wait.end.after == "completed" and output is not None and chain in results:
            tally.expect(output == kept, f"waiter of {chain} was given {output!r}, its result is {kept!r}")
    tally.counts |= spread("seconds from end to waiter told, with wake-ups", late[False])
    tally.counts |= spread("without", late[True])


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
