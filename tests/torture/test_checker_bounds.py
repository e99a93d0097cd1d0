"""What the checker excuses and what it does not: bounds count while somebody is there to keep them."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.torture.builders import SECOND, Story, verdicts
from torture.checker import Word, check
from torture.history import Note


def test_an_attempt_that_was_given_back_does_not_count_against_poison() -> None:
    def given_back(story: Story) -> None:
        story.job("a", type="poison", max_attempts=1)
        story.claim("a", "t1")
        story.end("a", "pending", attempt=0)
        story.note("releasing", job="a", token="t1")
        story.claim("a", "t2")
        story.reap("a")
        story.changes[-1] = replace(story.changes[-1], after="failed")
        story.job("b")
        story.claim("b", "t3")
        story.end("b")

    story = Story()
    given_back(story)
    evidence = story.evidence()

    assert {verdict.number: verdict.word for verdict in check(evidence)}[11] is Word.OK


def test_time_for_which_the_store_was_away_does_not_count() -> None:
    def excused(story: Story) -> None:
        story.job("a")
        begun = story.now
        story.wait(600)
        story.note("fault", kind="server restart", begun=begun, outage=True)
        story.claim("a")

    assert verdicts(excused)[23] is Word.OK


@pytest.mark.parametrize(("awake", "word"), [("w1", Word.OK), ("w1 and w2", Word.VIOLATED)])
def test_a_lease_is_taken_back_in_time_while_a_worker_is_there_to_do_it(awake: str, word: Word) -> None:
    def late(story: Story) -> None:
        story.facts.begun = story.now
        story.job("a")
        story.claim("a", worker="worker-1")
        for half in range(80):
            story.wait(0.5)
            # One is frozen for half a minute; the other, if there is one, is not.
            if half < 6 or half > 66:
                story.notes.append(Note("worker-1", "beat", story.now, {}))
            if awake == "w1 and w2":
                story.notes.append(Note("worker-2", "beat", story.now, {}))
        story.now -= 6 * SECOND
        story.reap("a")
        story.wait(6)
        story.claim("a", "t2")
        story.end("a")

    assert verdicts(late)[10] is word


def test_a_worker_that_is_stopping_is_not_there() -> None:
    def stopping(story: Story) -> None:
        story.facts.begun = story.now - 60 * SECOND
        beat(story, "worker-1", since=story.facts.begun, until=story.now + 40 * SECOND)
        story.job("a")
        story.claim("a")
        story.notes.append(Note("worker-1", "event", story.now, {"kind": "worker_stopping"}))
        story.wait(40)
        story.reap("a")
        story.claim("a", "t2")
        story.end("a")

    assert verdicts(stopping)[10] is Word.OK


@pytest.mark.parametrize(("seconds", "word"), [(60, Word.OK), (400, Word.VACUOUS)])
def test_a_bound_that_hardly_ever_counted_shows_nothing(seconds: int, word: Word) -> None:
    def mostly_away(story: Story) -> None:
        begun = story.facts.begun = story.now
        story.job("a")
        story.wait(seconds)
        story.note("fault", kind="server kill", begun=begun, outage=True)
        story.claim("a")
        story.reap("a")
        story.claim("a", "t2")
        story.end("a")
        story.wait(30)

    judged = verdicts(mostly_away)

    assert judged[10] is judged[23] is word


def beat(story: Story, process: str, *, since: int, until: int) -> None:
    """Its loop turns, as far as anybody knows."""
    story.notes += [Note(process, "beat", at, {}) for at in range(since, until, SECOND // 2)]


@pytest.mark.parametrize(("seconds", "word"), [(1, Word.OK), (20, Word.VIOLATED), (None, Word.VIOLATED)])
@pytest.mark.parametrize(("how", "number"), [("cancelled", 16), ("completed", 17)])
def test_a_worker_learns_that_its_job_was_taken_for_as_long_as_it_lives(
    how: str, number: int, seconds: int | None, word: Word
) -> None:
    def taken(story: Story) -> None:
        story.job("a")
        story.claim("a", "t1", worker="worker-1")
        story.notes.append(Note("worker-1", "handler", story.now, {"job": "a", "token": "t1"}))
        story.end("a", how, token=None)
        if how == "completed":
            story.call("complete", "ok", {"chain": "a"})
            story.call("complete", "fail", {"chain": "a"}, error="AlreadyCompleted")
            story.calls[-2].begun -= SECOND
        for second in range(30):
            story.notes.append(Note("worker-1", "beat", story.now, {}))
            if second == seconds:
                story.notes.append(Note("worker-1", "stale", story.now, {"job": "a", "token": "t1", "verb": "renew"}))
            story.wait(1)

    assert verdicts(taken)[number] is word


def test_one_that_never_heard_of_its_claim_does_not_hold_it() -> None:
    def unanswered(story: Story) -> None:
        story.job("a")
        story.claim("a", worker="w")
        story.note("failpoint", verb="claim", when="after", action="fail")
        story.note("exit", worker="w", code=0, asked=story.now)
        story.reap("a")
        story.claim("a", "t2")
        story.end("a")

    assert verdicts(unanswered)[21] is Word.OK


def test_blockers_that_never_end_together_show_nothing() -> None:
    def one_after_the_other(story: Story) -> None:
        for name in ("a", "b"):
            story.job(name)
            story.claim(name, f"t{name}")
            story.end(name)
            story.wait(1)
        story.job("c")
        story.call("start", "ok", {"ids": ["c"], "after": {"c": ["a", "b"]}}, found=["c"], deduplicated=[False])
        story.claim("c", "tc")
        story.end("c")

    assert verdicts(one_after_the_other)[13] is Word.VACUOUS


@pytest.mark.parametrize(("doubled", "word"), [(0, Word.VACUOUS), (1, Word.OK)])
def test_wakeups_have_to_be_both_lost_and_repeated(doubled: int, word: Word) -> None:
    assert verdicts(lambda story: story.note("hints", dropped=9, doubled=doubled))[27] is word


def test_a_bound_of_time_is_only_measured_where_time_is_not_judged() -> None:
    def late(story: Story) -> None:
        story.job("a")
        story.wait(600)
        story.claim("a")

    def leniently(story: Story) -> None:
        late(story)
        story.facts.timely = False

    assert verdicts(late)[23] is Word.VIOLATED
    assert verdicts(leniently)[23] is Word.VACUOUS


@pytest.mark.parametrize("pace", [25, 200])
@pytest.mark.parametrize(
    ("earlier", "priority", "word"),
    [
        pytest.param(True, 0, Word.OK, id="made-before-it"),
        pytest.param(False, 5, Word.OK, id="more-urgent"),
        pytest.param(False, 0, Word.VIOLATED, id="made-after-it"),
        pytest.param(True, -5, Word.VIOLATED, id="less-urgent"),
    ],
)
def test_a_job_may_wait_for_those_before_it_in_the_line_and_for_nobody_else(
    earlier: bool, priority: int, word: Word, pace: int
) -> None:
    def behind_many(story: Story) -> None:
        if not earlier:
            story.job("last")
        for number in range(1200):
            story.job(f"j{number}", priority=priority, scheduled_at=story.now)
        if earlier:
            story.job("last")
        due = story.now
        for number in range(1200):
            story.now = due + number * SECOND // pace
            story.claim(f"j{number}", f"t{number}", leased_until=story.now + 200 * SECOND)
        story.claim("last")

    assert verdicts(behind_many)[23] is word


def test_a_type_that_a_dead_producer_left_paused_may_wait() -> None:
    def left_paused(story: Story) -> None:
        story.job("a", type="keyed")
        story.call("pause", "ok", {"type": "keyed"})
        story.wait(600)
        story.call("resume", "ok", {"type": "keyed"})
        story.claim("a")

    assert verdicts(left_paused)[23] is Word.OK
