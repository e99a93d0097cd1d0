"""Snippets in the pages: taken out, and run as they stand."""

from __future__ import annotations

import ast
import asyncio
import inspect
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

ROOT = Path(__file__).parents[2]

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Snippet:
    """A fenced block: its language, its text, and the line it begins at."""

    language: str
    text: str
    line: int

    @property
    def file(self) -> str | None:
        """The name of the file that a snippet is, if its first line says so: `# shop.py`."""
        match = re.match(r"# (\S+\.py)\n", self.text)
        return match[1] if match else None


def snippets(page: Path) -> list[Snippet]:
    """The fenced blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    return [Snippet(each[1], each[2], text.count("\n", 0, each.start()) + 2) for each in _FENCE.finditer(text)]


def run_page(page: Path) -> dict[str, Any]:
    """Run a page's Python snippets, one after the other, as one program with `await` allowed at its top.

    An error shows the page and its line. Returns the names that the program has defined.
    """
    program = ModuleType("page")
    names = vars(program)

    async def run() -> None:
        for snippet in snippets(page):
            if snippet.language == "python":
                result = eval(_compiled(page, snippet), names)  # noqa: S307 - our own pages
                if inspect.iscoroutine(result):
                    await result

    # A dataclass looks its module up.
    sys.modules[program.__name__] = program
    try:
        asyncio.run(run())
    finally:
        del sys.modules[program.__name__]
    return names


def _compiled(page: Path, snippet: Snippet) -> CodeType:
    source = "\n" * (snippet.line - 1) + snippet.text
    code: CodeType = compile(source, page, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    return code
