"""The templates: HTML with all values escaped."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, cast

from jinja2 import Environment, PackageLoader, StrictUndefined

from holdfast.dashboard import text


@cache
def templates() -> Environment:
    """The environment of the templates. Every value is escaped, and characters without a shape are made visible."""
    made = Environment(
        loader=PackageLoader("holdfast.dashboard"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=text.shown,
    )
    filters: dict[str, Callable[..., Any]] = {
        "moment": text.moment,
        "number": text.number,
        "seconds": text.seconds,
        "shorten": text.shorten,
        "document": text.document,
        "iso": text.iso,
        "since": text.since,
        "short_id": text.short_id,
        "in_url": text.in_url,
        "sentences": text.sentences,
    }
    made.filters.update(cast(Any, filters))
    return made


def render(template: str, values: dict[str, Any]) -> str:
    return templates().get_template(template).render(values)
