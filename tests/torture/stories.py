"""A story in which all is well, and one for each thing that may be wrong, with the invariant that must see it."""

from __future__ import annotations

from tests.torture.builders import Story, Telling
from tests.torture.stories_of_neglect import NEGLECTED


def well(story: Story) -> None:
    """A job that was lost once and completed; a chain of two; a cancel; a waiter."""
    story.job("a")
    story.claim("a", "t1")
    story.note("handler", job="a", token="t1", attempt=1, type="work")
    story.reap("a")
    story.claim("a", "t2")
    story.note("handler", job="a", token="t2", attempt=2, type="work")
    story.note("settled", job="a", token="t1", status="completed", written=False)
    story.end("a")
    story.note("settled", job="a", token="t2", status="completed", written=True)
    story.facts.ledger = [("a", 2, "t2")]
    story.note("promise", job="a", ledger=True, effect=False)
    story.call("wait", "ok", {"chain": "a", "timeout": 5.0}, status="completed")
    story.job("c")
    story.claim("c", "t3")
    story.job("c2", chain="c", index=1)
    story.end("c")
    story.claim("c2", "t4")
    story.end("c2")
    story.rows["c"] = {"output": None}
    story.job("x")
    story.end("x", "cancelled")
    story.call("cancel", "ok", {"chain": "x"}, status="cancelled")
    story.job("d", scheduled_at=story.now + 2_000_000)
    story.calls[-1].args["delay"] = 2.0
    story.wait(3)
    story.claim("d", "t5")
    story.end("d")


def lost(story: Story) -> None:
    story.call("start", "ok", {"ids": ["a"]}, found=["a"], deduplicated=[False])


def there_though_refused(story: Story) -> None:
    story.job("a")
    story.call("start", "fail", {"ids": ["b"]})
    story.job("b")


def half_a_batch(story: Story) -> None:
    story.job("a")
    story.call("start", "info", {"ids": ["a", "b"], "together": 2})


def phantom(story: Story) -> None:
    story.job("a")
    story.calls.clear()


def step_before_its_time(story: Story) -> None:
    story.job("a")
    story.job("b", chain="a", index=1)


def business_without_job(story: Story) -> None:
    story.call("start", "info", {"ids": ["a"], "business": True})
    story.facts.business = ["a"]


def completed_twice(story: Story) -> None:
    story.job("a")
    story.claim("a", "t1")
    story.end("a")
    story.claim("a", "t2")
    story.end("a")


def effect_twice(story: Story) -> None:
    well(story)
    story.facts.ledger.append(("a", 1, "t1"))


def effect_of_a_stale_attempt(story: Story) -> None:
    well(story)
    story.facts.ledger = [("a", 1, "t1")]


def side_chain_missing(story: Story) -> None:
    well(story)
    story.note("promise", job="a", ledger=True, effect=True)


def stolen(story: Story) -> None:
    story.job("a")
    story.claim("a", "t1")
    story.claim("a", "t2")


def reaped_early(story: Story) -> None:
    story.job("a")
    story.claim("a", "t1")
    story.end("a", "pending", token=None)


def run_twice(story: Story) -> None:
    well(story)
    story.note("handler", job="a", token="t2", attempt=2, type="work")


def created_twice(story: Story) -> None:
    story.job("a")
    story.delete("a")
    story.job("a")


def without_a_lease(story: Story) -> None:
    story.job("a")
    story.claim("a", leased_until=None)


def settled_though_taken_back(story: Story) -> None:
    story.job("a")
    story.claim("a", "t1")
    story.reap("a")
    story.claim("a", "t2")
    story.end("a", "pending")
    story.note("settled", job="a", token="t1", status="pending", written=True)


def settled_as_something_else(story: Story) -> None:
    story.job("a")
    story.claim("a", "t1")
    story.end("a", "failed")
    story.note("settled", job="a", token="t1", status="completed", written=True)


def renewed_though_claimed_by_another(story: Story) -> None:
    well(story)
    story.note("accepted", verb="renew", asked=story.now, claims=[("a", "t1")])


def stale_write(story: Story) -> None:
    well(story)
    story.note("settled", job="a", token="t9", status="completed", written=True)


def ended_under_another_token(story: Story) -> None:
    story.job("a")
    story.claim("a", "t1")
    story.end("a", token="t2")


def output_of_another(story: Story) -> None:
    well(story)
    story.rows["a"] = {"output": "token:t1"}


def attempt_skipped(story: Story) -> None:
    story.job("a")
    story.claim("a", attempt=2)


def attempt_beyond_the_limit(story: Story) -> None:
    story.job("a", max_attempts=1)
    story.claim("a")
    story.reap("a")
    story.claim("a")


def early(story: Story) -> None:
    story.job("a", scheduled_at=story.now + 5_000_000)
    story.claim("a")


def late_reaper(story: Story) -> None:
    story.job("a")
    story.claim("a")
    story.wait(30)
    story.reap("a")


def poison_for_ever(story: Story) -> None:
    story.job("a", type="poison", max_attempts=1)
    story.claim("a")
    story.reap("a")


def hole_in_a_chain(story: Story) -> None:
    story.job("a")
    story.claim("a")
    story.end("a")
    story.rows["a"] = {"output": None}


def blocked_for_ever(story: Story) -> None:
    story.job("a")
    story.claim("a")
    story.end("a")
    story.job("b", after="blocked")
    story.call("start", "ok", {"ids": ["b"], "after": {"b": ["a"]}}, found=["b"], deduplicated=[False])


def started_before_its_blocker(story: Story) -> None:
    story.job("a")
    story.job("b")
    story.call("start", "ok", {"ids": ["b"], "after": {"b": ["a"]}}, found=["b"], deduplicated=[False])
    story.claim("b")


def let_go_afterwards(story: Story) -> None:
    story.job("a", tx="1")
    story.job("b", after="blocked", tx="2")
    story.call("start", "ok", {"ids": ["b"], "after": {"b": ["a"]}}, found=["b"], deduplicated=[False])
    story.claim("a", tx="3")
    story.end("a", tx="4")
    story.end("b", "pending", tx="5")


def two_of_a_key(story: Story) -> None:
    story.job("a", type="keyed", key="k")
    story.job("b", type="keyed", key="k")


def completed_after_cancel(story: Story) -> None:
    story.job("a")
    story.claim("a")
    story.end("a", "cancelled", token=None)
    story.end("a", "completed", token="t1")


BROKEN: list[tuple[int, Telling]] = [
    (1, lost), (1, there_though_refused), (1, half_a_batch), (2, phantom), (2, step_before_its_time),
    (3, business_without_job), (4, completed_twice), (5, effect_twice), (5, effect_of_a_stale_attempt),
    (5, side_chain_missing), (6, stolen), (6, reaped_early), (6, run_twice), (7, stale_write),
    (2, created_twice), (6, without_a_lease), (7, settled_though_taken_back),
    (7, settled_as_something_else), (7, renewed_though_claimed_by_another),
    (7, ended_under_another_token), (7, output_of_another), (8, attempt_skipped), (8, attempt_beyond_the_limit),
    (9, early), (10, late_reaper), (11, poison_for_ever), (12, hole_in_a_chain), (13, blocked_for_ever),
    (13, started_before_its_blocker), (13, let_go_afterwards),
    (14, two_of_a_key), (16, completed_after_cancel),
    *NEGLECTED,
]  # fmt: skip
