"""The display: a live screen on a terminal, plain lines otherwise."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from rich.box import ROUNDED, SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from holdfast.client.client_calls import Stats
from holdfast.core.record import Status
from holdfast.demo.workers import DemoWorker

TYPES = ("charge", "approve", "ship", "bill")
COLOURS = {
    Status.BLOCKED: "magenta",
    Status.PENDING: "yellow",
    Status.RUNNING: "cyan",
    Status.COMPLETED: "green",
}
LINES = 8


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state at one moment."""

    stats: Stats
    total: int
    workers: Sequence[DemoWorker]
    running: Sequence[str | None]
    """The worker of each running job."""

    @property
    def done(self) -> int:
        """Completed chains: those of orders end with `ship`, those of bills have one job."""
        ends = (self.stats.types.get(name) for name in ("ship", "bill"))
        return sum(stats.counts.get(Status.COMPLETED, 0) for stats in ends if stats is not None)

    @property
    def share(self) -> float:
        return self.done / self.total

    def holds(self, worker: DemoWorker) -> int:
        return self.running.count(worker.name)


class Terminal:
    """The display: `say` adds a line, `show` draws the state."""

    def __init__(self, console: Console, *, quiet: bool = False) -> None:
        self._console = console
        self._quiet = quiet
        self._begun = time.monotonic()
        self._reported: deque[Text] = deque(maxlen=LINES)
        self._frame: Snapshot | None = None
        self._quarters = 0
        self._live: Live | None = None
        if console.is_terminal and not quiet:
            self._live = Live(self._picture(), console=console, auto_refresh=False)

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self._begun

    def say(self, text: str, style: str = "") -> None:
        """Add a line of text."""
        line = Text.assemble((f"{self.elapsed:5.1f} s  ", "bright_black"), (text, style))
        self._reported.append(line)
        self._draw(line)

    def show(self, frame: Snapshot) -> None:
        """Draw the state."""
        self._frame = frame
        quarters = frame.done * 4 // frame.total
        news = None
        if quarters > self._quarters:
            self._quarters = quarters
            news = Text(f"{self.elapsed:5.1f} s  {frame.done} of {frame.total} chains completed")
        self._draw(news)

    def _draw(self, line: Text | None) -> None:
        if self._live is not None:
            self._live.update(self._picture(), refresh=True)
        elif line is not None and not self._quiet:
            self._console.print(line)

    def _picture(self) -> RenderableType:
        parts: list[RenderableType] = []
        if self._frame is not None:
            sides = Table.grid(padding=(0, 4))
            sides.add_row(_jobs_table(self._frame.stats), _workers_table(self._frame))
            parts += [_progress(self._frame), "", sides, ""]
        story = Group(*self._reported, *[""] * (LINES - len(self._reported)))
        title = Text.assemble((" Holdfast ", "bold"), (f"{self.elapsed:.0f} s ", "bright_black"))
        return Panel(
            Group(*parts, story), title=title, box=ROUNDED, width=min(self._console.width, 100), padding=(1, 2)
        )


def _progress(frame: Snapshot) -> RenderableType:
    bar = Table.grid(padding=(0, 2))
    colour = "green" if frame.done == frame.total else "cyan"
    counted = Text.assemble((f"{frame.done}", "bold"), f" of {frame.total} chains completed")
    bar.add_row(ProgressBar(frame.total, frame.done, width=44, complete_style=colour, finished_style=colour), counted)
    return bar


def _jobs_table(stats: Stats) -> Table:
    table = _table("type")
    for status in COLOURS:
        table.add_column(str(status), justify="right")
    for name in TYPES:
        counts = stats.types[name].counts if name in stats.types else {}
        cells = [
            Text(str(counts.get(each, 0) or "·"), colour if counts.get(each) else "bright_black")
            for each, colour in COLOURS.items()
        ]
        table.add_row(name, *cells)
    return table


def _workers_table(frame: Snapshot) -> Table:
    table = _table("worker")
    table.add_column("process", justify="right")
    table.add_column("holds", justify="right")
    for worker in frame.workers:
        style = "red" if worker.killed else ""
        held = str(frame.holds(worker) or "·")
        table.add_row(
            Text(worker.name, style), Text("killed" if worker.killed else str(worker.pid), style), Text(held, style)
        )
    return table


def _table(first: str) -> Table:
    """A table for one half of a terminal of 80 columns."""
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, collapse_padding=True, header_style="bright_black")
    table.add_column(first)
    return table
