"""Search by id, key or text."""

from __future__ import annotations

from typing import Any, NamedTuple

from starlette.responses import RedirectResponse, Response

from holdfast.core.counter_report import FrequentError
from holdfast.core.job import Chain
from holdfast.dashboard.pages.listing import Row
from holdfast.dashboard.query import Term
from holdfast.dashboard.routing import get
from holdfast.dashboard.text import in_url
from holdfast.dashboard.view import View, chain_link
from holdfast.dashboard.viewer import ReadTooSlow

MOST = 20
MOST_GROUPS = 500


class FoundError(NamedTuple):
    """An error group that contains the text."""

    error: FrequentError
    message: str
    url: str


async def show(view: View) -> Response:
    text = view.query.get("q", "").strip()[:500]
    chains: list[Row] = []
    groups: list[FoundError] = []
    types: list[str] = []
    slow = False
    problem = ""
    if text:
        try:
            target = await _by_id(view, text)
            if target is not None:
                return RedirectResponse(target, 303)
            found = await view.viewer.list_chains(key=text, limit=MOST)
            chains = [_chain_row(view, chain) for chain in found.items]
            groups = _groups(view, await view.viewer.errors(limit=MOST_GROUPS), text)
            stats = await view.viewer.stats()
            types = sorted(name for name in stats.types if text.lower() in name.lower())[:MOST]
        except ReadTooSlow:
            slow = True
        except ValueError as error:
            problem = str(error)
    return view.page(
        "search.html",
        searched=text,
        chains=chains,
        groups=groups,
        types=[(name, str(Term("type", name))) for name in types],
        slow=slow,
        problem_text=problem,
        error_query=f"status:failed {Term('error', text)}",
    )


async def _by_id(view: View, text: str) -> str | None:
    """The page of the chain or job with this id."""
    job = await view.viewer.get_job(text)
    if job is None:
        return None
    target = chain_link(view.request, job.chain_id)
    return target if not job.index else f"{target}{'&' if '?' in target else '?'}job={in_url(job.id)}#job"


def _chain_row(view: View, chain: Chain[Any]) -> Row:
    url = chain_link(view.request, chain.id)
    return Row(chain.job, chain.id, chain.type, chain.key, url, view.redaction.error(chain.error))


def _groups(view: View, errors: list[FrequentError], text: str) -> list[FoundError]:
    """The error groups whose shown message contains the text. Single jobs are not read: that is slow."""
    found: list[FoundError] = []
    for error in errors:
        message = f"{error.exception}: {view.redaction.message(error.message)}"
        if text.lower() in message.lower():
            query = f"{Term('type', error.type)} status:failed {Term('group', error.fingerprint)}"
            found.append(FoundError(error, message, view.url("/jobs", q=query)))
    return found[:MOST]


ROUTES = [get("/search", show)]
