"""The guides document every parameter of the worker."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

from holdfast import Worker

GUIDE = Path(__file__).parents[2] / "docs" / "workers.md"


def test_the_guide_lists_every_parameter_of_the_worker_with_its_default() -> None:
    section = GUIDE.read_text(encoding="utf-8").partition("\n## Parameters\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \| (?:`(.+?)`)? ?\| (\S.*) \|$", section, re.MULTILINE)

    parameters = list(inspect.signature(Worker).parameters.values())
    defaults = ["" if each.default is inspect.Parameter.empty else repr(each.default) for each in parameters]
    assert [(name, default) for name, default, _ in rows] == [
        (each.name, default) for each, default in zip(parameters, defaults, strict=True)
    ]
