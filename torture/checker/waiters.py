"""18: waits for chains: their results and their delays. `recovery_times` uses `reported_waits` too."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from torture.audit import Change, Row
from torture.checker.answer_times import by_then, during
from torture.checker.execution import TICK, spread
from torture.checker.transitions import FINISHED, ends, timeline
from torture.checker.verdict import Tally
from torture.evidence import Evidence
from torture.history import Call

LOOK_WITHOUT_WAKEUP = 5.0
"""Seconds between two reads of a waiter without wake-ups (holdfast.client.waiting.POLL)."""

SENT = 1_000_000
"""Microseconds in which a running process sends its wake-ups."""


class Wait(NamedTuple):
    """A wait that returned the end of its chain."""

    call: Call
    answered: int
    without_wakeups: bool
    end: Change
    sender: str
    """The process that ended the chain and had to send the wake-up; empty if unknown."""
    knew: int | None
    """When that process got its answer from the store."""

    def unsent(self, evidence: Evidence) -> bool:
        """Whether no wake-up was sent: the process that ended the chain died or froze before it got its answer."""
        knew = self.knew is not None and self.knew < self.answered
        return not knew and evidence.stood_still(self.sender, self.end.at, self.answered)

    def hinted(self, evidence: Evidence) -> bool:
        """Whether a wake-up was certainly sent: the process that ended the chain got its answer and ran on."""
        if self.knew is None or self.knew >= self.answered or evidence.last_beat(self.sender) is None:
            return False  # a simulation has no beats, and any process may lose wake-ups
        return not evidence.stood_still(self.sender, self.knew, min(self.answered, self.knew + SENT))


def reported_waits(evidence: Evidence) -> Iterator[Wait]:
    """The waits that returned an end that had been written before."""
    settled = {
        (note.process, note.facts["job"]): note.at for note in evidence.noted("settled") if note.facts["written"]
    }
    ending_calls: dict[str, list[Call]] = defaultdict(list)
    for call in evidence.called("cancel", "complete"):
        if call.outcome == "ok":
            ending_calls[call.args["chain"]].append(call)
    for call in evidence.called("wait"):
        reported, chain = call.facts.get("status"), call.args["chain"]
        if call.outcome != "ok" or call.ended is None or reported not in FINISHED:
            continue
        known = [each for each in evidence.by_chain.get(chain, []) if ends(each) and each.after == reported]
        known = [each for each in known if each.at <= call.ended + TICK]
        if not known:
            continue
        end = known[-1]
        sender, knew = end.worker_before or "", settled.get((end.worker_before or "", end.id))
        if end.token is None:  # not a settlement of a worker
            by_call = [(each.process, each.ended) for each in ending_calls[chain] if during(each, [end])]
            sender, knew = by_call[0] if by_call else (sender, None)
        yield Wait(call, call.ended, bool(call.args.get("without_wakeups")), end, sender, knew)


def waiters_wake(evidence: Evidence) -> Tally:
    """18. A wait returns soon after the end of its chain, with its result, or ends with its own timeout."""
    tally = Tally()
    timely, bound = evidence.facts.timely, LOOK_WITHOUT_WAKEUP + evidence.facts.slack
    _check_ends(tally, evidence)
    for call in evidence.called("wait"):
        chain, reported = call.args["chain"], call.facts.get("status")
        changes = evidence.by_chain.get(chain, [])
        if call.outcome == "fail":
            tally.expect(False, f"waiter of {chain} got {call.facts.get('error')}: {timeline(changes)}")
        elif call.ended is None:
            _check_unanswered(tally, evidence, call)
        elif call.outcome != "ok":
            continue
        elif reported in FINISHED:
            match = [each for each in changes if ends(each) and each.after == reported]
            tally.expect(by_then(call, match), f"waiter of {chain} got {reported}: {timeline(changes)}")
        elif reported == "timeout":
            end = _last_end(evidence, chain)
            slept = 0.0 if end is None else _waited(evidence, call, end)
            tally.expect_soon(timely, slept <= bound, f"waiter of {chain} timed out {slept:.1f} s after it had ended")
            over = _waited(evidence, call, call.begun) - call.args["timeout"]
            tally.expect_soon(timely, over <= bound, f"waiter of {chain} returned {over:.1f} s after its timeout")
        else:
            gone = [each for each in changes if each.after is None]
            tally.expect(by_then(call, gone), f"waiter of {chain} got ChainNotFound: {timeline(changes)}")
    return tally


def _check_unanswered(tally: Tally, evidence: Evidence, call: Call) -> None:
    """A wait without an answer: its process must have ended before the timeout of the wait."""
    last = max(evidence.last_beat(call.process) or 0, call.begun)
    over = (last - call.begun - evidence.still(call.process, call.begun, last)) / 1e6 - call.args["timeout"]
    bound = LOOK_WITHOUT_WAKEUP + evidence.facts.slack
    if over > bound:
        reported = f"waiter of {call.args['chain']} never returned, {over:.1f} s after its timeout"
        tally.expect_soon(evidence.facts.timely, False, reported)


def _check_ends(tally: Tally, evidence: Evidence) -> None:
    """Waits return at once after a wake-up, or after the next read without one, and all return the same output."""
    late: dict[bool, list[float]] = {False: [], True: []}
    results = _results(evidence)
    for wait in reported_waits(evidence):
        call, chain = wait.call, wait.end.chain
        waited = _waited(evidence, call, wait.end.at)
        late[wait.without_wakeups].append(waited)
        bound = LOOK_WITHOUT_WAKEUP + evidence.facts.slack
        reported = f"waiter of {chain} returned {waited:.1f} s after it ended, bound {bound:g} s"
        tally.expect_soon(evidence.facts.timely, waited <= bound, reported)
        if not wait.without_wakeups and wait.hinted(evidence):
            since = _waited(evidence, call, max(wait.end.at, wait.knew or 0))
            reported = f"waiter of {chain} returned {since:.1f} s after a wake-up was sent for it"
            tally.expect_soon(evidence.facts.timely, since <= evidence.facts.slack, reported)
        output, kept = call.facts.get("output"), results.get(chain)
        if wait.end.after == "completed" and output is not None and chain in results:
            tally.expect(output == kept, f"waiter of {chain} was given {output!r}, its result is {kept!r}")
    tally.counts |= spread("seconds from end to waiter notified, with wake-ups", late[False])
    tally.counts |= spread("without", late[True])


def _waited(evidence: Evidence, call: Call, since: int) -> float:
    """Seconds from `since`, or from the beginning of the call, to its answer, without outages and freezes."""
    assert call.ended is not None
    since = max(since, call.begun)
    return (call.ended - since - evidence.still(call.process, since, call.ended)) / 1e6


def _results(evidence: Evidence) -> dict[str, str | None]:
    """The result of each completed chain: the output of its last job."""
    last: dict[str, Row] = {}
    for row in evidence.facts.rows:
        if row.chain not in last or row.index > last[row.chain].index:
            last[row.chain] = row
    return {chain: row.output for chain, row in last.items() if row.status == "completed"}


def _last_end(evidence: Evidence, chain: str) -> int | None:
    """When a chain was finished; None if it is unfinished, or was retried."""
    changes = evidence.by_chain.get(chain, [])
    if not changes or any(change.before in FINISHED and change.after is not None for change in changes):
        return None
    last = max(change.index for change in changes)
    final = [change for change in changes if change.index == last and ends(change)]
    return final[-1].at if final else None
