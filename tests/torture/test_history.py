"""Histories: calls, answers and notes, also of a process that was killed."""

from __future__ import annotations

from pathlib import Path

from torture.history import History, read


def test_a_call_is_read_with_its_answer_and_a_note_with_its_facts(tmp_path: Path) -> None:
    history = History(tmp_path, "p")
    call = history.invoke("start", ids=["a"])
    history.note("handler", job="a")
    history.answer(call, "ok", found=["a"])
    history.close()

    (asked,), (note,) = read(tmp_path)

    assert (asked.process, asked.op, asked.args, asked.outcome, asked.facts) == (
        "p", "start", {"ids": ["a"]}, "ok", {"found": ["a"]}
    )  # fmt: skip
    assert asked.ended is not None
    assert asked.begun <= note.at <= asked.ended
    assert note.facts == {"job": "a"}


def test_a_call_without_an_answer_has_an_unknown_outcome(tmp_path: Path) -> None:
    history = History(tmp_path, "p")
    history.invoke("start", ids=["a"])
    history.close()

    (asked,), _ = read(tmp_path)

    assert (asked.outcome, asked.ended) == ("info", None)


def test_a_truncated_line_is_ignored(tmp_path: Path) -> None:
    history = History(tmp_path, "p")
    call = history.invoke("start", ids=["a"])
    history.close()
    with (tmp_path / "history-p.jsonl").open("a") as file:
        file.write('{"at": 1, "what": "ok", "ca')

    (asked,), notes = read(tmp_path)

    assert call == 1
    assert asked.outcome == "info"
    assert notes == []
