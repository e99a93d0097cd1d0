"""Interrupted clients and replaced files: what the checker calls broken, and what it does not."""

from __future__ import annotations

from typing import Any

import pytest

from tests.torture.builders import Story, Telling, verdicts
from torture.checker import Word


def never_again(story: Story) -> None:
    story.note("interrupted", operation="start")
    story.wait(20)
    story.note("beat")


def late(story: Story) -> None:
    story.note("interrupted", operation="start")
    story.wait(20)
    story.note("works again")


def crashed(story: Story) -> None:
    story.note("producer exit", process="interrupted-3", code=-11)


@pytest.mark.parametrize("emit", [never_again, late, crashed])
def test_a_client_that_does_not_work_after_an_interruption_is_seen(emit: Telling) -> None:
    assert verdicts(emit)[30] is Word.VIOLATED


def test_an_outage_of_the_store_excuses_a_client() -> None:
    def outage(story: Story) -> None:
        begun = story.now
        late(story)
        story.note("fault", kind="server restart", begun=begun, outage=True)

    assert verdicts(outage)[30] is Word.OK


def test_a_producer_that_a_failpoint_killed_is_no_crash() -> None:
    assert verdicts(lambda story: story.note("producer exit", process="producer-3", code=-9))[30] is Word.OK


GOOD: dict[str, Any] = {
    "acknowledged": [], "late": [], "found": 0, "refused": 5, "changes": 9, "workers": {"worker-0": "told"},
}  # fmt: skip


def test_a_replaced_file_that_is_noticed_is_in_order() -> None:
    assert verdicts(lambda story: story.note("replaced", **GOOD))[1] is Word.OK


@pytest.mark.parametrize(
    "wrong",
    [{"acknowledged": ["start"]}, {"late": ["a"]}, {"found": 1}, {"workers": {"worker-0": "code 0: "}}],
    ids=lambda wrong: next(iter(wrong)),
)
def test_a_replaced_file_that_is_used_on_is_seen(wrong: dict[str, Any]) -> None:
    assert verdicts(lambda story: story.note("replaced", **GOOD | wrong))[1] is Word.VIOLATED
