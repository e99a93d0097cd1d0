"""The elements of a picture, with the colours of a theme."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

FONT = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif"
LINE = 17
"""Pixels from one line of text to the next."""


@dataclass(frozen=True, slots=True)
class Theme:
    """Colours. Text on a box has a contrast of at least 4.5 to 1."""

    background: str
    text: str
    quiet: str
    line: str
    fills: dict[str, tuple[str, str]]
    """The fill and the border of each kind of box."""


THEMES = {
    "light": Theme(
        "#ffffff", "#1b1f24", "#57606a", "#6e7781",
        {
            "plain": ("#f6f8fa", "#8c959f"), "store": ("#ddf4ff", "#218bff"), "good": ("#dafbe1", "#2da44e"),
            "bad": ("#ffebe9", "#fa4549"), "active": ("#fff8c5", "#bf8700"), "group": ("#ffffff", "#d0d7de"),
        },
    ),
    "dark": Theme(
        "#131416", "#e6edf3", "#9da7b3", "#8b949e",
        {
            "plain": ("#22272e", "#6e7681"), "store": ("#0c2d6b", "#58a6ff"), "good": ("#0f3d1f", "#3fb950"),
            "bad": ("#5d1214", "#ff7b72"), "active": ("#4b3a00", "#d29922"), "group": ("#131416", "#3d444d"),
        },
    ),
}  # fmt: skip


def picture(width: int, height: int, title: str, theme: Theme, parts: list[str]) -> str:
    """The whole file. The title is read aloud instead of the picture."""
    marker = (
        '<marker id="arrow" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" orient="auto">'
        f'<path d="M 0 1 L 10 5 L 0 9 z" fill="{theme.line}"/></marker>'
    )
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" font-family="{FONT}" font-size="14">\n<title>{escape(title)}</title>\n<defs>{marker}</defs>\n'
        f'<rect width="{width}" height="{height}" rx="8" fill="{theme.background}"/>\n'
    )
    return head + "\n".join(parts) + "\n</svg>\n"


def box(x: float, y: float, width: float, height: float, theme: Theme, kind: str = "plain") -> str:
    fill, border = theme.fills[kind]
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="7" fill="{fill}" '
        f'stroke="{border}" stroke-width="1.5"/>'
    )


def text(
    x: float, y: float, label: str, colour: str, *, anchor: str = "middle", size: int = 14, bold: bool = False
) -> str:
    """Lines of text around a centre. `label` may contain line breaks."""
    lines = label.split("\n")
    top = y - (len(lines) - 1) * LINE / 2 + size * 0.35
    weight = ' font-weight="600"' if bold else ""
    return "\n".join(
        f'<text x="{x:g}" y="{top + index * LINE:g}" text-anchor="{anchor}" font-size="{size}"{weight} '
        f'fill="{colour}">{escape(line)}</text>'
        for index, line in enumerate(lines)
    )


def arrow(points: list[tuple[float, float]], theme: Theme, *, dashed: bool = False) -> str:
    path = " ".join(f"{'M' if index == 0 else 'L'} {x:g} {y:g}" for index, (x, y) in enumerate(points))
    dash = ' stroke-dasharray="5 4"' if dashed else ""
    return f'<path d="{path}" fill="none" stroke="{theme.line}" stroke-width="1.5"{dash} marker-end="url(#arrow)"/>'
