"""The graph of a chain as a drawing: positions of boxes and lines, calculated here and drawn by a template as SVG.

The jobs of the chain form a column from top to bottom, below the job that started the chain. A frame to the left of a
job has the chains that it waits for, and a frame to its right those that it started. A frame to the right of the last
job has the jobs that wait for the chain. A frame has one line, however many boxes it contains, so that 300 boxes stay
readable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

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
class Caption:
    """A text beside boxes."""

    text: str
    x: int
    y: int


@dataclass(frozen=True, slots=True)
class Frame:
    """The border of a group of boxes."""

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
    captions: list[Caption] = field(default_factory=list[Caption])
    lines: list[str] = field(default_factory=list[str])
    """Paths of SVG."""


def node_of(item: Chain[Any] | Job) -> Node:
    """The node of a job, or of a chain with the status of its last job."""
    if isinstance(item, Chain):
        return Node(item.type, str(item.status), item.id, item.id)
    return Node(item.type, str(item.status), item.chain_id, item.id)


class Links(NamedTuple):
    """What a chain is connected to. A number is that of the chains that the viewer may not see."""

    blockers: Mapping[str, tuple[Sequence[Chain[Any]], int]]
    """By the id of the job that waits for them."""
    started: Mapping[str, tuple[Sequence[Chain[Any]], int]]
    """By the id of the job that started them."""
    dependents: Sequence[Job]
    origin: Job | None = None

    def __bool__(self) -> bool:
        return bool(self.blockers or self.started or self.dependents or self.origin)


def draw(jobs: Sequence[Job], links: Links, *, selected: str | None = None) -> Drawing:
    """Lay out the jobs of a chain and what they are connected to."""
    left = {job_id: _Group("waits for", *found) for job_id, found in links.blockers.items()}
    frames_width = max((group.width for group in left.values()), default=0)
    column = 1 + (frames_width + ROOM if frames_width else 0)
    drawing, y, previous = Drawing(), 1, None
    if links.origin is not None and jobs and not jobs[0].index:
        y = 24
        drawing.captions.append(Caption("started by", column + 10, 16))
        previous = Box(node_of(links.origin), column, y, WIDTH, HEIGHT)
        drawing.boxes.append(previous)
        y += HEIGHT + GAP
    for job in jobs:
        before = [left[job.id]] if job.id in left else []
        after = [_Group("started", *links.started[job.id])] if job.id in links.started else []
        if job is jobs[-1] and links.dependents:
            after.append(_Group("is waited for by", links.dependents, 0))
        height = max(HEIGHT, _stacked(before), _stacked(after))
        box = Box(node_of(job), column, y + (height - HEIGHT) // 2, WIDTH, HEIGHT, job.id == selected)
        drawing.boxes.append(box)
        if previous is not None:
            drawing.lines.append(_down(previous, box))
        middle, top = box.y + HEIGHT // 2, y + (height - _stacked(before)) // 2
        for group in before:
            group.place(drawing, frames_width + 1 - group.width, top)
            drawing.lines.append(_across(frames_width + 1, column, middle))
        top = y + (height - _stacked(after)) // 2
        for group in after:
            group.place(drawing, column + WIDTH + ROOM, top)
            drawing.lines.append(_branch(column + WIDTH, middle, column + WIDTH + ROOM, top + group.height // 2))
            top += group.height + GAP
            drawing.width = max(drawing.width, column + WIDTH + ROOM + group.width + 2)
        previous, y = box, y + height + GAP
    drawing.width = max(drawing.width, column + WIDTH + 2)
    drawing.height = y - GAP + 2
    return drawing


class _Group:
    """Boxes in rows and columns within a frame."""

    def __init__(self, verb: str, items: Sequence[Chain[Any] | Job], hidden: int) -> None:
        self._verb = verb
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

    def place(self, drawing: Drawing, x: int, y: int) -> None:
        hidden = self.total - len(self.nodes)
        title = f"{self._verb} {self.total:,}" + (f" ({hidden:,} not shown)" if hidden else "")
        drawing.frames.append(Frame(x, y, self.width, self.height))
        drawing.captions.append(Caption(title, x + PADDING, y + 18))
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


def _branch(x: int, y: int, to: int, at: int) -> str:
    """A line to another height, with a bend in the middle."""
    return _across(x, to, y) if y == at else f"M{x} {y}H{(x + to) // 2}V{at}H{to - 1}"


def _stacked(groups: Sequence[_Group]) -> int:
    """The height of frames that are placed below each other."""
    return sum(group.height + GAP for group in groups) - GAP if groups else 0


def _cut(text: str, length: int) -> str:
    line = visible(" ".join(text.split()))
    return line if len(line) <= length else line[: max(1, length - 1)] + "…"
