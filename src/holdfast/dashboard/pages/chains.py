"""Chains: a list with filters."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from starlette.responses import Response

from holdfast.core.job import Chain, Page
from holdfast.dashboard.pages import listing
from holdfast.dashboard.pages.listing import PAGE_SIZE, Row
from holdfast.dashboard.query import parse
from holdfast.dashboard.routing import NavigationEntry, get
from holdfast.dashboard.view import View, chain_link

PATH = "/chains"


async def show(view: View) -> Response:
    query = parse(view.query.get("q", ""), view.access)
    if query.chain is not None:
        query.problems.append("chain: selects jobs. Use the page Jobs, or search for the id.")

    def read() -> Awaitable[Page[Chain[Any]]]:
        return view.viewer.list_chains(cursor=view.query.get("cursor") or None, limit=PAGE_SIZE, **query.filters)

    page, slow = await listing.read_page(query, read)
    rows = [
        Row(
            chain.job,
            chain.id,
            chain.type,
            chain.key,
            chain_link(view.request, chain.id),
            view.redaction.error(chain.error),
        )
        for chain in page.items
    ]
    return listing.show_page(view, "Chains", PATH, query, page, rows, slow=slow, stats=None)


NAVIGATION = NavigationEntry("Chains", PATH)
ROUTES = [get(PATH, show)]
