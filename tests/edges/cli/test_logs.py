"""What is logged, for people and for programs."""

import json
import logging

from holdfast.cli.logs import JsonFormatter, LineFormatter


def record() -> logging.LogRecord:
    made = logging.makeLogRecord({"levelname": "WARNING", "name": "holdfast", "msg": "it blocks, at a.py:1 in a"})
    made.__dict__["holdfast_stack"] = ["a.py:1 in a: b()", "b.py:2 in b: \x1b[2J"]
    return made


def test_people_see_a_stack_line_by_line_below_its_message() -> None:
    first, *below = LineFormatter().format(record()).split("\n")

    assert first.endswith("it blocks, at a.py:1 in a")
    assert below == ["    | a.py:1 in a: b()", "    | b.py:2 in b: \\x1b[2J"]


def test_programs_get_a_stack_as_a_list() -> None:
    document = json.loads(JsonFormatter().format(record()))

    assert document["message"] == "it blocks, at a.py:1 in a"
    assert document["stack"][0] == "a.py:1 in a: b()"
