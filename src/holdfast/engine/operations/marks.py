"""Operations that show whether a transaction of the application committed.

Only stores that can join such transactions perform them.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from holdfast.engine.operations.operation import Operation


class Mark(Operation[None], frozen=True):
    """Write a mark in a transaction: the mark exists after the commit, and not after a rollback.

    The rollback of a savepoint removes the marks that were written after the savepoint.
    """

    verb: ClassVar = "mark"
    repeatable: ClassVar = False
    id: str


class FoundMarks(NamedTuple):
    """The marks that are committed.

    `final`: a transaction that had ended for its connection before the search, and whose mark is missing, was rolled
    back. False if such a transaction may still be in its COMMIT.
    """

    ids: list[str]
    final: bool


class FindMarks(Operation[FoundMarks], frozen=True):
    """The marks among `ids` that are committed. Old marks may be deleted.

    `forget` lists marks that the caller found before and does not need any more: the store may delete them.
    """

    verb: ClassVar = "find_marks"
    writes: ClassVar = False
    ids: tuple[str, ...]
    forget: tuple[str, ...] = ()
