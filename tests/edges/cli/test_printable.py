"""No text of a job controls the terminal that shows it."""

import json

import pytest

from holdfast.cli.printable import printable, printable_lines, write_json

HOSTILE = {
    "colour": "\x1b[31mred\x1b[0m",
    "window title": "\x1b]0;owned\x07",
    "hyperlink": "\x1b]8;;http://evil.example\x1b\\click\x1b]8;;\x1b\\",
    "clear screen": "\x1b[2J\x1b[H",
    "cursor up": "done\x1b[1A\x1b[2Kfailed",
    "device report": "\x1b[6n\x1b[c",
    "C1 introducer": "\x9b31mred",
    "backspace": "rm -rf /\b\b\b\b\b\b\b\becho",
    "carriage return": "failed\rcompleted",
    "line feed": "ok\nforged line",
    "bell": "\x07",
    "NUL": "a\x00b",
    "DEL": "a\x7fb",
    "bidi override": "user\u202etxt.exe",
    "bidi isolates": "\u2066a\u2067b\u2068c\u2069",
    "direction marks": "\u200e\u200f\u061c",
    "zero width": "pass\u200bword\u200d\ufeff\u2060",
    "line separators": "a\u2028b\u2029c\x85d",
    "tags": "\U000e0041\U000e0042",
    "lone surrogate": "\ud800",
    "soft hyphen": "co\u00adop",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_what_would_act_on_a_terminal_is_shown_as_its_escape(text: str) -> None:
    shown = printable(text)

    assert shown.isprintable()
    assert shown != text
    assert "\\" in shown


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_json_is_ascii_and_comes_back_the_same(text: str) -> None:
    written = write_json({text: [text]})

    assert written.isascii()
    assert written.isprintable()
    assert json.loads(written) == {text: [text]}


@pytest.mark.parametrize(
    "text", ["plain", "naïve café", "日本語", "emoji 🎉", "[bold]not markup[/bold]", ":smile:", ""]
)
def test_text_that_does_nothing_stays_as_it_is(text: str) -> None:
    assert printable(text) == text


def test_the_lines_of_a_traceback_stay_lines() -> None:
    assert printable_lines("one\n\ttwo\x1b[2J") == "one\n    two\\x1b[2J"
