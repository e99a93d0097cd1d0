"""Chains: a list with filters."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from holdfast.core.job import Chain, Page
from holdfast.dashboard.pages import listing
from holdfast.dashboard.pages.listing import PAGE_SIZE, Row
from holdfast.dashboard.query import EXAMPLE, parse
from holdfast.dashboard.routing import NavigationEntry, get
from holdfast.dashboard.view import View, chain_link
from holdfast.dashboard.viewer import ReadTooSlow

PATH = "/chains"


async def show(view: View) -> Response:
    query = parse(view.query.get("q", ""), view.access)
    if query.chain is not None:
        query.problems.append("chain: selects jobs. Use the page Jobs, or search for the id.")
    found: Page[Chain[Any]] = Page([], None)
    slow = False
    if not query.problems:
        try:
            cursor = view.query.get("cursor") or None
            found = await view.viewer.list_chains(cursor=cursor, limit=PAGE_SIZE, **query.filters)
        except ReadTooSlow:
            slow = True
        except ValueError as error:
            query.problems.append(str(error))
    rows = [
        Row(
            chain.job,
            chain.id,
            chain.type,
            chain.key,
            chain_link(view.request, chain.id),
            view.redaction.error(chain.error),
        )
        for chain in found.items
    ]
    return view.page(
        "list.html",
        title="Chains",
        path=PATH,
        text=view.query.get("q", ""),
        query=query,
        example=EXAMPLE,
        rows=rows,
        columns=listing.columns(query),
        titles=listing.TITLES,
        tabs=listing.tabs(view, PATH, query, None),
        next=view.url(PATH, q=str(query), cursor=found.next_cursor) if found.next_cursor else None,
        first=view.url(PATH, q=str(query)) if view.query.get("cursor") else None,
        slow=slow,
        live=view.live(),
    )


NAVIGATION = NavigationEntry("Chains", PATH)
ROUTES = [get(PATH, show)]
