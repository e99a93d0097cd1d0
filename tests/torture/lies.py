"""Stories in which somebody was told what is not so, or too soon, or too late; and what was written too late."""

from __future__ import annotations

from typing import Any

from tests.torture.builders import SECOND, Story, Telling
from tests.torture.stories import well
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


def told_what_never_was(story: Story) -> None:
    story.job("a")
    story.claim("a")
    story.end("a")
    story.call("cancel", "ok", {"chain": "a"}, status="cancelled")


def two_winners(story: Story) -> None:
    story.job("a", type="approval")
    story.end("a", token=None)
    for _ in range(2):
        story.call("complete", "ok", {"chain": "a"})


def waiter_told_wrong(story: Story) -> None:
    well(story)
    story.call("wait", "ok", {"chain": "a", "timeout": 5.0}, status="failed")


def waiter_asleep(story: Story) -> None:
    well(story)
    begun = story.calls[-1].begun
    story.wait(60)
    story.call("wait", "ok", {"chain": "a", "timeout": 90.0}, status="completed")
    story.calls[-1].begun = begun


def waiter_given_an_earlier_steps_output(story: Story) -> None:
    well(story)
    story.call("wait", "ok", {"chain": "c", "timeout": 5.0}, status="completed", output="half")


def waiter_told_that_there_is_none(story: Story) -> None:
    well(story)
    story.call("wait", "ok", {"chain": "a", "timeout": 5.0}, status="gone")


def waiter_kept_beyond_its_time(story: Story) -> None:
    story.job("a")
    begun = story.now
    story.wait(60)
    story.call("wait", "ok", {"chain": "a", "timeout": 0.5}, status="timeout")
    story.calls[-1].begun = begun


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
    (16, told_what_never_was), (17, two_winners), (18, waiter_told_wrong), (18, waiter_asleep),
    (18, waiter_given_an_earlier_steps_output), (18, waiter_told_that_there_is_none), (18, waiter_kept_beyond_its_time),
    (12, next_step_written_afterwards), (13, let_go_long_afterwards),
]  # fmt: skip
