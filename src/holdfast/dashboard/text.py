"""Values as text on a page.

Names, keys, errors and payloads may contain any character. The templates escape markup. The functions here make
characters visible that have no shape of their own: they could hide or reorder text.
"""

from __future__ import annotations

import json
import re
import unicodedata
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

from markupsafe import Markup, escape

NOTHING = "\u2013"
"""In the place of a value that does not exist."""

_ID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_GENERATED = re.compile(_ID)
_MARKED = re.compile(rf"`([^`\n]{{1,200}})`|\b({_ID})\b|\d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{{3}}Z")
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
# The joiner of emoji and of some scripts, and the characters that structure text.
_KEPT = frozenset("\n\t\u200d")


def visible(text: str) -> str:
    """The text with control and format characters as escapes. Lines and tabs stay."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escaped(each) for each in text)


def shown(value: Any) -> Any:
    """What a template outputs for a value. Jinja calls this for every expression, before it escapes markup."""
    if value is None:
        return ""
    if isinstance(value, str) and not isinstance(value, Markup):
        return visible(value)
    return value


def shorten(text: str, length: int = 200) -> str:
    """The text on one line, with at most this many characters."""
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1] + "…"


def short_id(text: str) -> str:
    """The end of a generated id, because ids of the same time begin alike. Other long ids without their middle."""
    if _GENERATED.fullmatch(text):
        return f"…{text[-12:]}"
    return text if len(text) <= 32 else f"{text[:15]}…{text[-15:]}"


def number(value: float | None) -> str:
    return NOTHING if value is None else f"{value:,}"


def seconds(value: float | None) -> str:
    """A duration with two significant parts: 340 ms, 12.5 s, 3 min 20 s, 4 h 5 min, 2 d 3 h."""
    if value is None:
        return NOTHING
    if value < 1:
        return f"{value * 1000:.0f} ms"
    if value < 60:
        return f"{value:.1f}".rstrip("0").rstrip(".") + " s"
    whole = int(value)
    for unit, size, below, part in (("min", 60, "s", 1), ("h", 3600, "min", 60), ("d", 86400, "h", 3600)):
        if whole < size * (60 if unit == "min" else 24) or unit == "d":
            rest = whole % size // part
            return f"{whole // size:,} {unit}" + (f" {rest} {below}" if rest else "")
    raise AssertionError


def since(start: datetime | None, end: datetime | None) -> str:
    """The time between two moments. Without an end, the time until now."""
    if start is None:
        return NOTHING
    return seconds(max(0.0, ((end or datetime.now(UTC)) - start).total_seconds()))


def relative(moment: datetime, now: datetime | None = None) -> str:
    """A moment as seen from now: 3 min ago, in 2 h."""
    difference = moment - (now or datetime.now(UTC))
    distance = abs(difference)
    if distance < timedelta(seconds=1):
        return "now"
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60), ("s", 1)):
        count = int(distance.total_seconds() // size)
        if count:
            return f"in {count:,} {unit}" if difference > timedelta() else f"{count:,} {unit} ago"
    raise AssertionError


def iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def exact(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def moment(value: datetime | None) -> Markup:
    """A time as HTML: relative, and exact on hover. A script shows it in the zone of the viewer."""
    if value is None:
        return Markup('<span class="none">{}</span>').format(NOTHING)
    return Markup('<time datetime="{}" title="{}">{}</time>').format(iso(value), exact(value), relative(value))


def sentences(value: str, search: str) -> Markup:
    """The text of an explanation: times in the zone of the viewer, names in backquotes as code, and ids as links.

    `search` is the URL of the search, which leads to the page of an id.
    """
    parts: list[Markup] = []
    end = 0
    for match in _MARKED.finditer(value):
        parts.append(escape(visible(value[end : match.start()])))
        if match[1] is not None:
            parts.append(Markup("<code>{}</code>").format(visible(match[1])))
        elif match[2] is not None:
            link = Markup('<a class="id" href="{}?q={}" title="{}">{}</a>')
            parts.append(link.format(search, match[2], match[2], short_id(match[2])))
        else:
            parts.append(Markup('<time datetime="{0}" data-exact>{0}</time>').format(match[0]))
        end = match.end()
    return Markup("").join([*parts, escape(visible(value[end:]))])


def document(value: Any) -> str:
    """A JSON value as indented text. Integers are exact."""
    return json.dumps(value, indent=2, ensure_ascii=False, default=str)


def in_url(text: str) -> str:
    """A text as one part of a path or of a query."""
    return quote(text.encode("utf-8", "surrogatepass"), safe="")


def _escaped(character: str) -> str:
    if character in _KEPT or unicodedata.category(character) not in _UNSEEN:
        return character
    return character.encode("unicode_escape").decode()
