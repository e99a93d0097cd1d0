"""Messages between participants, from top to bottom.

A source has `title`, a list of `participants` with a name and an optional kind, and a list of `[[message]]`: `from` and
`to` are numbers of participants, `label` is the text. A message to its own sender is a note.
"""

from __future__ import annotations

from typing import Any

from tools.diagrams import svg

COLUMN, ROW, TOP = 320, 50, 92


def draw_sequence(source: dict[str, Any], theme: svg.Theme) -> str:
    participants: list[dict[str, Any]] = source["participants"]
    width = COLUMN * len(participants)
    height = TOP + ROW * len(source["message"]) + 10
    centres: list[float] = [COLUMN * (index + 0.5) for index in range(len(participants))]
    parts: list[str] = []
    for centre, each in zip(centres, participants, strict=True):
        parts.append(
            f'<path d="M {centre:g} 60 V {height - 12}" stroke="{theme.line}" stroke-width="1" stroke-dasharray="3 4"/>'
        )
        parts.append(svg.box(centre - 85, 18, 170, 42, theme, each.get("kind", "plain")))
        parts.append(svg.text(centre, 39, each["name"], theme.text, bold=True))
    for row, each in enumerate(source["message"]):
        y = TOP + ROW * row + 12
        begin, end = (centres[int(each[side])] for side in ("from", "to"))
        if begin == end:
            parts.append(svg.box(begin - 110, y - 18, 220, 36, theme, each.get("kind", "plain")))
            parts.append(svg.text(begin, y, each["label"], theme.text, size=12))
        else:
            parts.append(svg.text((begin + end) / 2, y - 9, each["label"], theme.text, size=12))
            parts.append(svg.arrow([(begin, y), (end, y)], theme, dashed=each.get("dashed", False)))
    return svg.picture(width, height, source["title"], theme, parts)
