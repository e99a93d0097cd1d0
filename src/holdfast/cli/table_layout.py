"""Tables that fit the width of the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions
from rich.table import Table
from rich.text import Text

_NOTHING = ("", "-", "·")
_FIRM = ("", "type", "status", "outcome", "id", "action", "target")
_LEAST = {"error": 20, "finding": 30}
"""The smallest width of a column whose text may wrap. For other such columns it is 12 characters."""
_GIVING_WAY = ("job", "took", "attempt", "worker", "key", "next", "started", "age")
"""Columns that are left out if there is no room, in this order."""
_IDS = ("id", "target")
"""Columns that users copy into a command. They are never left out, and are folded after all others."""
_NARROW = 10
"""The width of a wrapped text if there is no room for more."""
_GAP = 2


class Sheet:
    """A table. Types and statuses are neither wrapped nor left out. An empty column is left out.

    If it is too wide, long texts wrap, then the least important columns are left out, then types and statuses are
    folded. An id is folded last: with a type of usual length it is whole in 80 columns.
    """

    def __init__(self, *columns: str, numbers: Sequence[str] = ()) -> None:
        """Columns of numbers are aligned to the right."""
        self._columns = columns
        self._numbers = frozenset(numbers)
        self._rows: list[list[Text]] = []
        self._sections: set[int] = set()

    def add_row(self, *cells: Text | str) -> None:
        """Add a row. Missing cells at its end are empty."""
        made = [Text(cell) if isinstance(cell, str) else cell for cell in cells]
        self._rows.append([*made, *(Text() for _ in self._columns[len(made) :])])

    def add_section(self) -> None:
        """Draw a line below the rows so far."""
        self._sections.add(len(self._rows) - 1)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Table]:
        yield self.laid_out(options.max_width)

    def laid_out(self, width: int) -> Table:
        """The table for a width in characters."""
        widths = self._fit(width)
        made = Table(box=SIMPLE_HEAD, padding=(0, _GAP - 1, 0, 0), pad_edge=False, header_style="bold", show_edge=False)
        for at in widths:
            name = self._columns[at]
            justify = "right" if name in self._numbers else "left"
            made.add_column(name, justify=justify, width=widths[at], overflow="fold")  # type: ignore[arg-type]
        for number, row in enumerate(self._rows):
            made.add_row(*(row[at] for at in widths), end_section=number in self._sections)
        return made

    def _fit(self, width: int) -> dict[int, int]:
        """The index of each column that is shown, and its width."""
        widths = {
            at: max(cell_len(name), self._widest(at))
            for at, name in enumerate(self._columns)
            if any(row[at].plain not in _NOTHING for row in self._rows)
        }

        loose = {at: most for at, most in sorted(widths.items(), key=lambda each: -each[1]) if self._is_loose(at)}

        def excess() -> int:
            return sum(widths.values()) + _GAP * (len(widths) - 1) - width

        def shrink(at: int, least: int) -> None:
            widths[at] -= max(0, min(excess(), widths[at] - least))

        def is_too_wide() -> bool:
            """Whether the table is too wide even if texts wrap. They may use the room of a column that was removed."""
            widths.update({at: most for at, most in loose.items() if at in widths})
            for at, most in loose.items():
                if at in widths:
                    shrink(at, min(most, _LEAST.get(self._columns[at], 12)))
            return excess() > 0

        for name in _GIVING_WAY:
            at = self._columns.index(name) if name in self._columns else -1
            if at in widths and is_too_wide():
                del widths[at]
        if is_too_wide():
            for at in loose:
                if at in widths:
                    shrink(at, min(widths[at], _NARROW))
            firm = [at for at in widths if not self._is_loose(at)]
            for at in sorted(firm, key=lambda at: self._columns[at] in _IDS):
                name = self._columns[at]
                half = (cell_len(name) + 1) // 2
                shrink(at, max(self._widest(at), half) if name in self._numbers else min(widths[at], 12))
        return widths

    def _widest(self, at: int) -> int:
        return max((cell_len(row[at].plain) for row in self._rows), default=0)

    def _is_loose(self, at: int) -> bool:
        return self._columns[at] not in _FIRM and self._columns[at] not in self._numbers
