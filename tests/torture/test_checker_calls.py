"""What callers were told, against what happened and when: each lie is seen, and what only looks like one is not."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tests.torture.builders import SECOND, Story, Telling, verdicts
from tests.torture.stories import well
from torture import payloads
from torture.checker import Word, check
from torture.history import Note


def keyed(story: Story, id: str, key: str = "k") -> None:
    story.job(id, type="keyed", key=key)


def start_duplicate(story: Story, found: str, **args: Any) -> None:
    story.call("start", "ok", {"ids": ["mine"], "type": "keyed", "key": "k"} | args, found=[found], deduplicated=[True])


def start_acknowledged_before_it_was_written(story: Story) -> None:
    story.call("start", "ok", {"ids": ["a"]}, found=["a"], deduplicated=[False])
    story.wait(3)
    story.job("a")
    del story.calls[-1]


def start_told_that_it_made_anothers(story: Story) -> None:
    story.job("a")
    story.call("start", "ok", {"ids": ["b"]}, found=["a"], deduplicated=[False])


def duplicate_of_another_key(story: Story) -> None:
    keyed(story, "a", "other")
    start_duplicate(story, "a")


def duplicate_of_another_type_without_a_key(story: Story) -> None:
    story.job("a")
    start_duplicate(story, "a")


def duplicate_of_one_that_had_ended_long_before(story: Story) -> None:
    keyed(story, "a")
    story.claim("a")
    story.end("a")
    story.wait(10)
    start_duplicate(story, "a")


def duplicate_of_one_whose_worker_knew_that_it_had_ended(story: Story) -> None:
    keyed(story, "a")
    story.claim("a")
    story.end("a")
    story.note("settled", job="a", token="t1", status="completed", written=True)
    story.wait(0.1)
    start_duplicate(story, "a")


def finished_row_overwritten(story: Story) -> None:
    story.job("a")
    story.claim("a", "t1")
    story.end("a")
    story.end("a", token="t9")


def finished_row_renewed(story: Story) -> None:
    story.job("a")
    story.claim("a", "t1")
    story.end("a", "cancelled", token=None)
    story.end("a", "cancelled", leased_until=story.now + SECOND)


def read_under_another_token(story: Story) -> None:
    well(story)
    story.rows["a"] = {"token": "t9"}


def retry_acknowledged_and_never_done(story: Story) -> None:
    story.job("a")
    story.claim("a")
    story.end("a", "failed")
    story.call("retry", "ok", {"job": "a"}, job="a")


def reopened_by_a_retry_that_was_refused(story: Story) -> None:
    story.job("a")
    story.claim("a")
    story.end("a", "failed")
    story.end("a", "pending", attempt=0)
    story.call("retry", "fail", {"job": "a"}, error="NotRetryable")


def gone_by_a_delete_that_was_refused(story: Story) -> None:
    story.job("a", keep=60 * SECOND)
    story.claim("a")
    story.end("a")
    story.delete("a")
    story.call("delete", "fail", {"chains": ["a"]}, error="StillReferenced")


def delete_acknowledged_and_never_done(story: Story) -> None:
    story.job("a")
    story.claim("a")
    story.end("a")
    story.call("delete", "ok", {"chains": ["a"]}, deleted=["a"])


def cancel_acknowledged_before_it_took(story: Story) -> None:
    story.job("a")
    story.call("cancel", "ok", {"chain": "a"}, status="cancelled")
    story.wait(5)
    story.end("a", "cancelled", token=None)


def completion_acknowledged_before_it_took(story: Story) -> None:
    story.job("a", type="approval")
    story.call("complete", "ok", {"chain": "a"})
    story.wait(5)
    story.end("a", token=None)


def loser_told_that_there_is_none(story: Story) -> None:
    story.job("a", type="approval")
    story.end("a", token=None)
    story.call("complete", "ok", {"chain": "a"})
    story.calls[-1].begun -= SECOND
    story.call("complete", "fail", {"chain": "a"}, error="ChainNotFound")


def loser_told_before_anybody_won(story: Story) -> None:
    story.job("a", type="approval")
    story.call("complete", "fail", {"chain": "a"}, error="AlreadyCompleted")
    story.wait(5)
    story.claim("a")
    story.end("a")


def worker_that_was_never_told(story: Story) -> None:
    """It goes on for eight seconds, and finds out because its own outcome is refused."""
    story.job("a", type="errand")
    story.claim("a", "t1", worker="worker-1")
    story.notes.append(Note("worker-1", "handler", story.now, {"job": "a", "token": "t1"}))
    story.end("a", token=None)
    story.call("complete", "ok", {"chain": "a"})
    story.calls[-1].begun -= SECOND
    for _ in range(16):
        story.wait(0.5)
        story.notes.append(Note("worker-1", "beat", story.now, {}))
    settled = {"job": "a", "token": "t1", "status": "completed", "written": False}
    story.notes.append(Note("worker-1", "settled", story.now, settled))


def claimed_before_the_time_that_was_asked_for(story: Story) -> None:
    """The store has made it due at once, and nobody hurried it."""
    story.job("a")
    story.calls[-1].args["delay"] = 2.0
    story.claim("a")


def payload_that_fails_its_job(story: Story) -> None:
    story.job("a", type="echo")
    story.claim("a")
    story.end("a", "failed")
    story.call("echo", "fail", {"value": "''", "chain": "a"}, error="ChainFailed")


def waiter_met_with_an_error(story: Story) -> None:
    well(story)
    story.call("wait", "fail", {"chain": "a", "timeout": 5.0}, error="ChainNotFound")


def waiter_that_never_returned(story: Story) -> None:
    well(story)
    story.call("wait", "info", {"chain": "a", "timeout": 5.0})
    story.calls[-1].ended = None
    for _ in range(60):
        story.wait(0.5)
        story.notes.append(Note("p", "beat", story.now, {}))


def waiter_that_no_wakeup_reached(story: Story) -> None:
    story.job("a")
    story.claim("a", worker="w")
    begun = story.now
    story.end("a")
    story.note("settled", job="a", token="t1", status="completed", written=True)
    for _ in range(9):
        story.wait(0.5)
        story.note("beat")
    story.call("wait", "ok", {"chain": "a", "timeout": 10.0, "deaf": False}, status="completed")
    story.calls[-1].begun = begun
    story.wait(0.5)
    story.note("beat")


def next_step_written_afterwards(story: Story) -> None:
    story.job("c")
    story.claim("c")
    story.end("c")
    story.job("x")
    story.wait(0.5)
    story.job("c2", chain="c", index=1)


def let_go_long_afterwards(story: Story) -> None:
    story.job("a")
    story.job("b", after="blocked")
    story.calls[-1].args["after"] = {"b": ["a"]}
    story.claim("a")
    story.end("a")
    story.job("x")
    story.wait(20)
    story.end("b", "pending")


LIES: list[tuple[int, Telling]] = [
    (1, start_acknowledged_before_it_was_written), (1, start_told_that_it_made_anothers),
    (14, duplicate_of_another_key), (14, duplicate_of_another_type_without_a_key),
    (14, duplicate_of_one_that_had_ended_long_before), (14, duplicate_of_one_whose_worker_knew_that_it_had_ended),
    (4, finished_row_overwritten), (4, finished_row_renewed), (4, read_under_another_token),
    (4, retry_acknowledged_and_never_done), (4, reopened_by_a_retry_that_was_refused),
    (19, gone_by_a_delete_that_was_refused), (19, delete_acknowledged_and_never_done),
    (16, cancel_acknowledged_before_it_took), (17, completion_acknowledged_before_it_took),
    (17, loser_told_that_there_is_none), (17, loser_told_before_anybody_won), (17, worker_that_was_never_told),
    (9, claimed_before_the_time_that_was_asked_for), (20, payload_that_fails_its_job),
    (18, waiter_met_with_an_error), (18, waiter_that_never_returned), (18, waiter_that_no_wakeup_reached),
    (12, next_step_written_afterwards), (13, let_go_long_afterwards),
]  # fmt: skip


@pytest.mark.parametrize(("number", "tell"), LIES, ids=[f"I{number}-{tell.__name__}" for number, tell in LIES])
def test_each_lie_is_seen(number: int, tell: Telling) -> None:
    assert verdicts(tell)[number] is Word.VIOLATED


def test_a_batch_may_end_between_two_pieces_that_are_written_as_one() -> None:
    def in_pieces(story: Story) -> None:
        for id in ("a", "b"):
            story.job(id)
        story.call("start", "info", {"ids": ["a", "b", "c", "d"], "together": 2})

    assert verdicts(in_pieces)[1] is Word.OK


def test_a_duplicate_may_end_while_it_is_found() -> None:
    def ended_meanwhile(story: Story) -> None:
        keyed(story, "a")
        story.claim("a")
        begun = story.now
        story.end("a")
        story.wait(1)
        start_duplicate(story, "a")
        story.calls[-1].begun = begun

    assert verdicts(ended_meanwhile)[14] is not Word.VIOLATED


def test_a_chain_may_be_found_unfinished_while_the_one_who_ends_it_is_frozen_before_its_commit() -> None:
    def frozen(story: Story) -> None:
        keyed(story, "a")
        story.claim("a")
        story.end("a")
        story.wait(10)
        start_duplicate(story, "a")
        story.note("settled", job="a", token="t1", status="completed", written=True)

    assert verdicts(frozen)[14] is not Word.VIOLATED


def test_one_that_was_hurried_may_start_before_the_time_that_was_asked_for() -> None:
    def hurried(story: Story) -> None:
        claimed_before_the_time_that_was_asked_for(story)
        story.call("run_now", "ok", {"chain": "a"})

    assert verdicts(hurried)[9] is Word.VACUOUS


def test_one_that_was_cancelled_and_retried_may_start_before_the_time_that_was_asked_for() -> None:
    def retried(story: Story) -> None:
        story.job("a")
        story.calls[-1].args["delay"] = 2.0
        story.end("a", "cancelled")
        story.end("a", "pending")
        story.claim("a")

    assert verdicts(retried)[9] is Word.VACUOUS


def test_payloads_whose_workers_died_are_not_to_blame() -> None:
    def unlucky(story: Story) -> None:
        story.job("a", type="echo", max_attempts=1)
        story.claim("a")
        story.reap("a")
        story.changes[-1] = replace(story.changes[-1], after="failed")
        story.call("echo", "fail", {"value": "''", "chain": "a"}, error="ChainFailed")

    assert verdicts(unlucky)[20] is not Word.VIOLATED


@pytest.mark.parametrize(("left_out", "word"), [(0, Word.OK), (1, Word.VACUOUS)])
def test_a_long_run_has_to_meet_every_odd_value(left_out: int, word: Word) -> None:
    def echoed(story: Story) -> None:
        for value in payloads.ODD[left_out:]:
            story.call("echo", "ok", {"value": payloads.name(value)}, equal=True, got="")
        for name in payloads.REFUSED:
            story.call("refuse", "ok", {"value": name}, error="PayloadRefused")

    assert verdicts(echoed)[20] is word


def test_an_errand_that_was_soon_over_shows_nothing_of_its_worker_being_told() -> None:
    def soon_over(story: Story) -> None:
        worker_that_was_never_told(story)
        story.notes[-1].at -= 7 * SECOND
        story.notes.sort(key=lambda note: note.at)

    assert verdicts(soon_over)[17] is Word.VACUOUS


def test_chains_of_one_step_show_nothing_of_chains() -> None:
    def single(story: Story) -> None:
        story.job("a")
        story.claim("a")
        story.end("a")

    assert verdicts(single)[12] is Word.VACUOUS


@pytest.mark.parametrize(
    ("workers", "apart", "word"),
    [
        (("w1", "w2"), 0.04, Word.OK),
        (("w1", "w1"), 0.04, Word.VACUOUS),
        (("w1", "w2"), 0.0, Word.VACUOUS),
    ],
)
def test_a_tie_of_blockers_is_one_of_two_workers(workers: tuple[str, str], apart: float, word: Word) -> None:
    def tied(story: Story) -> None:
        for name, worker in zip(("a", "b"), workers, strict=True):
            story.job(name)
            story.claim(name, f"t{name}", worker=worker)
        story.job("c", after="blocked")
        story.calls[-1].args["after"] = {"c": ["a", "b"]}
        story.end("a")
        story.now += round(apart * SECOND) - SECOND // 100
        story.end("b")
        story.end("c", "pending", token=None)
        story.claim("c", "tc")
        story.end("c")

    assert verdicts(tied)[13] is word


@pytest.mark.parametrize(
    ("number", "tell", "word"),
    [
        (4, finished_row_overwritten, Word.VIOLATED),
        (22, finished_row_overwritten, Word.VIOLATED),
        (4, retry_acknowledged_and_never_done, Word.LOST),
        (22, retry_acknowledged_and_never_done, Word.LOST),
        (12, next_step_written_afterwards, Word.VIOLATED),
    ],
)
def test_what_the_audit_shows_by_itself_is_no_loss(number: int, tell: Telling, word: Word) -> None:
    story = Story()
    tell(story)
    story.facts.durability = "everysec"

    assert {verdict.number: verdict.word for verdict in check(story.evidence())}[number] is word
