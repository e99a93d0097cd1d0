"""The guides document every parameter of the public classes that applications create."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holdfast import Client, Group, Queue, Reaper, Retry, Supervisor, SyncClient, Worker

DOCS = Path(__file__).parents[2] / "docs"

DESCRIBED: dict[tuple[Callable[..., Any], str], str] = {
    (Supervisor, "groups"): "one `Group()`",
    (Group, "retry"): f"`{Retry.__name__}()`",
}
"""Defaults that the table does not contain as a literal."""


@pytest.mark.parametrize(
    ("documented", "guide", "heading"),
    [
        (Worker, "workers.md", "## Parameters"),
        (Client, "stores.md", "## Parameters of Client"),
        (SyncClient, "stores.md", "## Parameters of Client"),
        (Queue, "queue.md", "### Parameters"),
        (Reaper, "queue.md", "### Parameters of Reaper"),
        (Supervisor, "supervisor.md", "### Parameters of Supervisor"),
        (Group, "supervisor.md", "### Parameters of Group"),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "",
)
def test_a_guide_lists_every_parameter_with_its_default(
    documented: Callable[..., Any], guide: str, heading: str
) -> None:
    text = (DOCS / guide).read_text(encoding="utf-8")
    section = re.split(r"\n##+ ", text.partition(f"\n{heading}\n")[2])[0]
    rows = re.findall(r"^\| `(\w+)` \| (.*?) ?\| (\S.*) \|$", section, re.MULTILINE)

    parameters = inspect.signature(documented).parameters.values()
    assert [(name, default) for name, default, _ in rows] == [
        (each.name, DESCRIBED.get((documented, each.name), _default(each))) for each in parameters
    ]


def test_the_default_group_and_its_retry_are_the_documented_ones() -> None:
    assert inspect.signature(Supervisor).parameters["groups"].default == (Group(),)
    assert Group().retry == Retry()


def _default(parameter: inspect.Parameter) -> str:
    return "" if parameter.default is inspect.Parameter.empty else f"`{parameter.default!r}`"
