"""What callers were told, against what happened and when: each lie is seen, and what only looks like one is not."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.torture.builders import SECOND, Story, Telling, verdicts
from tests.torture.lies import (
    LIES,
    claimed_before_the_time_that_was_asked_for,
    finished_row_overwritten,
    keyed,
    next_step_written_afterwards,
    retry_acknowledged_and_never_done,
    start_duplicate,
    worker_that_was_never_told,
)
from torture import payloads
from torture.checker import Word, check


@pytest.mark.parametrize(("number", "emit"), LIES, ids=[f"I{number}-{emit.__name__}" for number, emit in LIES])
def test_each_lie_is_seen(number: int, emit: Telling) -> None:
    assert verdicts(emit)[number] is Word.VIOLATED


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


@pytest.mark.parametrize(("ended", "word"), [("cancelled", Word.VACUOUS), ("completed", Word.VIOLATED)])
def test_a_job_may_fail_as_it_is_created_where_its_blocker_had_failed(ended: str, word: Word) -> None:
    def late(story: Story) -> None:
        story.job("a", tx="1")
        story.end("a", ended, tx="2")
        story.job("b", after="blocked", tx="3")
        story.calls[-1].args["after"] = {"b": ["a"]}
        story.end("b", "failed", token=None, tx="3")

    assert verdicts(late)[13] is word


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
    ("number", "emit", "word"),
    [
        (4, finished_row_overwritten, Word.VIOLATED),
        (22, finished_row_overwritten, Word.VIOLATED),
        (4, retry_acknowledged_and_never_done, Word.LOST),
        (22, retry_acknowledged_and_never_done, Word.LOST),
        (12, next_step_written_afterwards, Word.VIOLATED),
    ],
)
def test_what_the_audit_shows_by_itself_is_no_loss(number: int, emit: Telling, word: Word) -> None:
    story = Story()
    emit(story)
    story.facts.durability = "everysec"

    assert {verdict.number: verdict.word for verdict in check(story.evidence())}[number] is word
