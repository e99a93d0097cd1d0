"""Boxes and arrows at given places.

A source has `title`, `width`, `height`, and lists of `[[box]]` (id, x, y, w, h, label, kind, top = true for a label at
the upper edge) and `[[arrow]]` (points = ["a.right", [x, y], "b.left+10"], label, at = [x, y], anchor, dashed). A point
is a place in pixels or a side of a box: left, right, top or bottom, with an offset along that side.
"""

from __future__ import annotations

import re
from typing import Any

from tools.diagrams import svg


def draw_boxes(source: dict[str, Any], theme: svg.Theme) -> str:
    boxes: dict[str, dict[str, Any]] = {each["id"]: each for each in source["box"]}
    parts: list[str] = []
    for each in source["box"]:
        parts.append(svg.box(each["x"], each["y"], each["w"], each["h"], theme, each.get("kind", "plain")))
        height = 22 if each.get("top") else each["h"] / 2
        centre = each["x"] + each["w"] / 2
        name, _, rest = each["label"].partition("\n")
        shift = rest.count("\n") + 1 if rest else 0
        parts.append(svg.text(centre, each["y"] + height - shift * svg.LINE / 2, name, theme.text, bold=True))
        if rest:
            parts.append(svg.text(centre, each["y"] + height + svg.LINE / 2, rest, theme.quiet, size=12))
    for each in source.get("arrow", []):
        points = [_point(point, boxes) for point in each["points"]]
        parts.append(svg.arrow(points, theme, dashed=each.get("dashed", False)))
        if "label" in each:
            x, y = each["at"]
            parts.append(svg.text(x, y, each["label"], theme.quiet, size=12, anchor=each.get("anchor", "middle")))
    return svg.picture(source["width"], source["height"], source["title"], theme, parts)


def _point(point: Any, boxes: dict[str, dict[str, Any]]) -> tuple[float, float]:
    if not isinstance(point, str):
        return float(point[0]), float(point[1])
    match = re.fullmatch(r"([\w-]+)\.(left|right|top|bottom)([+-]\d+)?", point)
    assert match is not None, f"{point!r} names no side of a box"
    each, offset = boxes[match[1]], float(match[3] or 0)
    middle_x, middle_y = each["x"] + each["w"] / 2, each["y"] + each["h"] / 2
    return {
        "left": (each["x"], middle_y + offset),
        "right": (each["x"] + each["w"], middle_y + offset),
        "top": (middle_x + offset, each["y"]),
        "bottom": (middle_x + offset, each["y"] + each["h"]),
    }[match[2]]
