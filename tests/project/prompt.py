"""Runs standard input as `python -m asyncio` does, statement by statement.

The prompt of Python 3.13 does not accept blocks of several lines that are not typed at a terminal.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
import sys
from types import FunctionType


async def main() -> None:
    sys.path.insert(0, "")
    for statement in ast.parse(sys.stdin.read()).body:
        code = compile(
            ast.Interactive([statement]), "<stdin>", "single", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True
        )
        answer = FunctionType(code, globals())()
        if inspect.iscoroutine(answer):
            await answer


if __name__ == "__main__":
    asyncio.run(main())
