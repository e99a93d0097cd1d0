"""What the chain of a bulk action stores: the request with its members, the tally so far, and the report."""

from __future__ import annotations

from typing import Final

import msgspec

from holdfast.bulk.actions import Action
from holdfast.core.record import Status

SKIPS_LISTED: Final = 50
"""Skipped chains that a report names. All of them are counted."""


class BulkRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    """A confirmed bulk action. `members` are the ids of chains by their status at the confirmation.

    The members of `pause` are job types. `types` are the job types that the user may change; None means all.
    """

    action: Action
    members: dict[Status, list[str]]
    user: str
    query: str = ""
    """The filter as the user wrote it."""
    reason: str | None = None
    types: list[str] | None = None
    capped: bool = False
    """Whether the filter matched more chains than an action can have."""

    def __repr__(self) -> str:
        return f"BulkRequest({self.action!r}, {self.total} members)"

    @property
    def total(self) -> int:
        return sum(map(len, self.members.values()))

    def batch(self, begin: int, size: int) -> list[tuple[str, Status]]:
        """Some of the members, with their status at the confirmation."""
        members = [(id, status) for status, ids in self.members.items() for id in ids]
        return members[begin : begin + size]


class Skip(msgspec.Struct, frozen=True):
    """A member that was not changed."""

    id: str
    why: str


class Tally(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was done with the first `position` members."""

    total: int
    position: int = 0
    done: int = 0
    skipped: int = 0
    skips: list[Skip] = []

    def plus(self, done: int, skips: list[Skip]) -> Tally:
        """With the outcomes of one more batch."""
        return Tally(
            self.total,
            self.position + done + len(skips),
            self.done + done,
            self.skipped + len(skips),
            [*self.skips, *skips][:SKIPS_LISTED],
        )


class BulkReport(msgspec.Struct, frozen=True):
    """The output of the chain: how many members were changed and skipped, and why the first of these were skipped."""

    action: Action
    total: int
    done: int
    skipped: int
    skips: list[Skip]
