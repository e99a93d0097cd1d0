"""The graph of a chain as a drawing: positions of boxes and lines, calculated here and drawn by a template as SVG.

The jobs of the chain form a column from top to bottom. To the left of a job is a frame with the chains that it waits
for, to the right of the last job a frame with the jobs that wait for the chain. A frame has one line, however many
boxes it contains, so that 300 boxes stay readable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from holdfast.core.job import Chain, Job
from holdfast.dashboard.text import short_id, visible

WIDTH, HEIGHT = 200, 42
SMALL_WIDTH, SMALL_HEIGHT = 148, 26
GAP, ROOM, PADDING = 22, 48, 10
SMALL_FROM = 9
"""From this number of boxes on, those of a frame are small."""
MOST_BOXES = 300


@dataclass(frozen=True, slots=True)
class Node:
    """What a box shows. `target` is the id of the chain that it leads to, `job_id` that of the job."""

    type: str
    status: str
    target: str
    job_id: str


@dataclass(frozen=True, slots=True)
class Box:
    """A node with its place."""

    node: Node
    x: int
    y: int
    width: int
    height: int
    current: bool = False

    @property
    def title(self) -> str:
        return _cut(self.node.type, (self.width - 34) // 7)

    @property
    def small(self) -> bool:
        return self.height < HEIGHT

    @property
    def subtitle(self) -> str:
        return short_id(self.node.job_id)


@dataclass(frozen=True, slots=True)
class Frame:
    """A group of boxes with a title."""

    title: str
    x: int
    y: int
    width: int
    height: int


@dataclass(slots=True)
class Drawing:
    """Everything that the template draws."""

    width: int = 0
    height: int = 0
    boxes: list[Box] = field(default_factory=list[Box])
    frames: list[Frame] = field(default_factory=list[Frame])
    lines: list[str] = field(default_factory=list[str])
    """Paths of SVG."""


def node_of(item: Chain[Any] | Job) -> Node:
    """The node of a job, or of a chain with the status of its last job."""
    if isinstance(item, Chain):
        return Node(item.type, str(item.status), item.id, item.id)
    return Node(item.type, str(item.status), item.chain_id, item.id)


def draw(
    jobs: Sequence[Job],
    blockers: Mapping[str, tuple[Sequence[Chain[Any]], int]],
    dependents: Sequence[Job],
    *,
    selected: str | None = None,
) -> Drawing:
    """Lay out the jobs of a chain, the blockers of each job with the number of hidden ones, and the dependents."""
    left = {job_id: _Group(chains, hidden) for job_id, (chains, hidden) in blockers.items() if chains or hidden}
    right = _Group(dependents, 0)
    frames_width = max((group.width for group in left.values()), default=0)
    column = 1 + (frames_width + ROOM if frames_width else 0)
    drawing, y, previous = Drawing(), 1, None
    for job in jobs:
        group = left.get(job.id)
        height = max(HEIGHT, group.height if group is not None else 0)
        box = Box(node_of(job), column, y + (height - HEIGHT) // 2, WIDTH, HEIGHT, job.id == selected)
        drawing.boxes.append(box)
        if previous is not None:
            drawing.lines.append(_down(previous, box))
        if group is not None:
            group.place(drawing, frames_width + 1 - group.width, y + (height - group.height) // 2, "waits for")
            drawing.lines.append(_across(frames_width + 1, column, box.y + HEIGHT // 2))
        previous, y = box, y + height + GAP
    if previous is not None and right.nodes:
        middle = previous.y + HEIGHT // 2
        top = max(1, middle - right.height // 2)
        right.place(drawing, column + WIDTH + ROOM, top, "is waited for by")
        drawing.lines.append(_across(column + WIDTH, column + WIDTH + ROOM, middle))
        y = max(y, top + right.height + GAP)
    drawing.width = column + WIDTH + (ROOM + right.width if right.nodes else 0) + 2
    drawing.height = y - GAP + 2
    return drawing


class _Group:
    """Boxes in rows and columns within a frame."""

    def __init__(self, items: Sequence[Chain[Any] | Job], hidden: int) -> None:
        self.nodes = [node_of(item) for item in items[:MOST_BOXES]]
        self.total = len(items) + hidden
        small = len(self.nodes) >= SMALL_FROM
        self._box = (SMALL_WIDTH, SMALL_HEIGHT) if small else (WIDTH, HEIGHT)
        self._gap = 6 if small else 10
        count = max(1, len(self.nodes))
        self._columns = 1 if count <= 4 else 2 if count < SMALL_FROM else min(6, 2 + count // 20)
        rows = -(-count // self._columns)
        self.width = self._columns * (self._box[0] + self._gap) - self._gap + 2 * PADDING
        self.height = (rows * (self._box[1] + self._gap) - self._gap if self.nodes else 0) + 2 * PADDING + 18

    def place(self, drawing: Drawing, x: int, y: int, verb: str) -> None:
        hidden = self.total - len(self.nodes)
        title = f"{verb} {self.total:,}" + (f" ({hidden:,} not shown)" if hidden else "")
        drawing.frames.append(Frame(title, x, y, self.width, self.height))
        for place, node in enumerate(self.nodes):
            row, column = divmod(place, self._columns)
            drawing.boxes.append(
                Box(
                    node,
                    x + PADDING + column * (self._box[0] + self._gap),
                    y + PADDING + 18 + row * (self._box[1] + self._gap),
                    *self._box,
                )
            )


def _down(above: Box, below: Box) -> str:
    x = above.x + above.width // 2
    return f"M{x} {above.y + above.height}V{below.y - 1}"


def _across(x: int, to: int, y: int) -> str:
    return f"M{x} {y}H{to - 1}"


def _cut(text: str, length: int) -> str:
    line = visible(" ".join(text.split()))
    return line if len(line) <= length else line[: max(1, length - 1)] + "…"
