"""Blocking code has no loop directly inside `with` or `try`: an exception at its jump would skip the block's end.

On Python 3.11 that jump is part of the block, so this can fail on newer versions only, which `make others` runs.
"""

from __future__ import annotations

import dis
import inspect
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

import holdfast

PACKAGE = Path(holdfast.__file__).parent
BLOCKING = ("client", "contrib/logging", "engine", "queue", "stores", "worker/steps")
OTHER_THREADS = inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR | inspect.CO_GENERATOR
"""What the event loop or a driver of generators runs: it ends the blocks itself."""


@pytest.mark.parametrize("folder", BLOCKING)
def test_the_jumps_of_loops_are_inside_their_blocks(folder: str) -> None:
    modules = [each for each in (PACKAGE / folder).rglob("*.py") if not each.name.startswith("async_")]
    codes = [code for module in modules for code in _functions(compile(module.read_text(), module.name, "exec"))]

    assert codes
    assert [f"{code.co_filename}: {code.co_qualname}" for code in codes if _has_uncovered_jump(code)] == []


def test_a_loop_inside_a_block_is_found() -> None:
    source = "def f(lock, more):\n    with lock:\n        while more():\n            pass\n"
    (code,) = _functions(compile(source, "module", "exec"))
    *_, last = [each for each in dis.get_instructions(code) if "JUMP_BACKWARD" in each.opname]
    covered = any(entry.start <= last.offset < entry.end for entry in _entries(code))

    assert _has_uncovered_jump(code) is not covered


def _functions(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            if not constant.co_flags & OTHER_THREADS:
                yield constant
            yield from _functions(constant)


def _has_uncovered_jump(code: CodeType) -> bool:
    """Whether a jump back, between two instructions of one block, is not part of that block."""
    instructions = list(dis.get_instructions(code))
    blocks = {each.offset for each in instructions if each.opname == "PUSH_EXC_INFO"}

    def ends(offset: int) -> set[int]:
        return {each.target for each in _entries(code) if each.start <= offset < each.end} & blocks

    return any(
        (ends(before.offset) & ends(jump.argval)) - ends(jump.offset)
        for before, jump in pairwise(instructions)
        if jump.opname == "JUMP_BACKWARD"
    )


def _entries(code: CodeType) -> list[Any]:
    # Not in the type stubs.
    entries: list[Any] = vars(dis.Bytecode(code))["exception_entries"]
    return entries
