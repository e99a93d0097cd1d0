"""Errors as text."""

from __future__ import annotations

import pytest

from holdfast.core.failure import LIMIT, ErrorText, describe, read_error, readable, write


class RaisesInStr(Exception):
    def __str__(self) -> str:
        raise RuntimeError("not even this")


class Interrupting(Exception):
    def __str__(self) -> str:
        raise KeyboardInterrupt


def reported(error: BaseException) -> ErrorText:
    text = read_error(describe(error))
    assert text is not None
    return text


def test_an_error_is_one_line_with_a_traceback() -> None:
    try:
        raise ValueError("no luck") from KeyError("image")
    except ValueError as raised:
        text = reported(raised)

    assert text == "ValueError: no luck"
    assert (text.type, text.message) == ("ValueError", "no luck")
    assert "KeyError: 'image'" in text.traceback
    assert text.traceback.endswith("ValueError: no luck\n")


def test_an_error_without_a_message_is_its_type() -> None:
    assert reported(ValueError()) == "ValueError"


def test_a_nested_type_is_named_in_full() -> None:
    class Inner(Exception):
        pass

    assert reported(Inner("x")).type.endswith("<locals>.Inner")


def test_an_error_whose_str_raises_is_described() -> None:
    assert reported(RaisesInStr()).type == "RaisesInStr"
    assert reported(Interrupting()).type == "Interrupting"


@pytest.mark.parametrize("odd", ["\ud800 alone", "nul \0 here", "\U0001f600", "\x1b[31m", '"quoted\\"'])
def test_any_text_can_be_stored_as_utf_8_without_nul(odd: str) -> None:
    stored = describe(ValueError(odd))

    stored.decode()
    text = read_error(stored)
    assert text is not None
    assert "\0" not in text
    assert "\0" not in text.traceback


def test_long_texts_keep_their_beginning_and_their_end() -> None:
    text = read_error(write("T" * 1000, "m" * 100_000, "first" + "x" * 100_000 + "last"))

    assert text is not None
    assert len(text.type) == 200
    assert len(text.message) < LIMIT // 4 + 100
    assert len(text.traceback) < LIMIT + 100
    assert text.traceback.startswith("first")
    assert text.traceback.endswith("last")
    assert "characters left out" in text.traceback


def test_a_traceback_that_never_ends_is_bounded() -> None:
    def deeper() -> None:
        deeper()

    with pytest.raises(RecursionError) as caught:
        deeper()

    assert len(describe(caught.value)) < 2 * LIMIT


def test_no_error_is_none() -> None:
    assert read_error(None) is None


class Unreadable(Exception):
    def __getattribute__(self, name: str) -> object:
        raise KeyboardInterrupt(name)


def test_an_exception_whose_attributes_can_be_read_is_kept() -> None:
    error = ExceptionGroup("some", [ValueError("a")])
    error.__cause__ = error

    assert readable(error) is error


@pytest.mark.parametrize("place", ["itself", "cause", "context", "member"])
def test_an_exception_that_cannot_be_read_is_replaced(place: str) -> None:
    error: BaseException = ValueError("outer")
    match place:
        case "cause":
            error.__cause__ = Unreadable()
        case "context":
            error.__context__ = Unreadable()
        case "member":
            error = ExceptionGroup("some", [Unreadable()])
        case _:
            error = Unreadable()

    replaced = readable(error)

    assert type(replaced) is RuntimeError
    assert str(replaced) == f"{type(error).__qualname__}: the exception cannot be read"


def test_the_replacement_of_an_exception_has_its_traceback() -> None:
    try:
        raise Unreadable
    except Unreadable as error:
        replaced = readable(error)

    assert "raise Unreadable" in reported(replaced).traceback
