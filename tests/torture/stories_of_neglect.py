"""Stories of what is kept, counted, stopped and left behind as it should not be."""

from __future__ import annotations

from tests.torture.builders import Story, Telling


def kept_too_long(story: Story) -> None:
    story.job("a", keep=1_000_000)
    story.claim("a")
    story.end("a")
    story.wait(60)


def pruned_early(story: Story) -> None:
    story.job("a", keep=60_000_000)
    story.claim("a")
    story.end("a")
    story.delete("a")


def pruned_unfinished(story: Story) -> None:
    story.job("a")
    story.delete("a")


def changed_payload(story: Story) -> None:
    story.call("echo", "ok", {"value": "1"}, equal=False, got="1.0")


def held_after_exit(story: Story) -> None:
    story.job("a")
    story.claim("a", worker="w")
    story.note("exit", worker="w", code=0, asked=story.now)


def claimed_after_the_order(story: Story) -> None:
    story.job("a")
    asked = story.now
    story.wait(10)
    story.claim("a", worker="w")
    story.end("a")
    story.note("exit", worker="w", code=0, asked=asked)


def claimed_although_it_knew(story: Story) -> None:
    story.job("a")
    asked = story.now
    story.note("event", kind="worker_stopping", job=None, attempt=None, detail="")
    story.claim("a", worker="w")
    story.end("a")
    story.note("exit", worker="w", code=0, asked=asked)


def calls_that_never_end(story: Story) -> None:
    story.note("left", running=1)


def starved(story: Story) -> None:
    story.job("a")
    story.wait(600)
    story.claim("a")


def not_counted(story: Story) -> None:
    story.job("a")
    story.wait(1)
    story.call("stats", "ok", {}, total=0)


def leaked(story: Story) -> None:
    story.facts.leaks = {"left: connections": 2}


def not_at_rest(story: Story) -> None:
    story.job("a")
    story.wait(5)


def waiting_for_each_other(story: Story) -> None:
    for one, other in (("a", "b"), ("b", "a")):
        story.job(one, type="mutual")
        story.claim(one)
        story.job(f"after-{other}", chain=one, index=1, type="parting", after="blocked")
        story.end(one)
    story.wait(5)


def neighbour_touched(story: Story) -> None:
    story.facts.neighbour = {"started": 2, "all": 2, "pending": 1, "ids": ["n1", "n2"]}


NEGLECTED: list[tuple[int, Telling]] = [
    (19, kept_too_long),
    (19, pruned_early),
    (19, pruned_unfinished),
    (20, changed_payload),
    (21, claimed_after_the_order),
    (21, claimed_although_it_knew),
    (21, held_after_exit),
    (23, starved),
    (29, not_counted),
    (30, calls_that_never_end),
    (30, leaked),
    (30, not_at_rest),
    (30, waiting_for_each_other),
    (32, neighbour_touched),
]
