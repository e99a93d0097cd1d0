"""The pages: one module each.

A new page is added to `PAGES`, or to `OTHERS` if it has no entry in the navigation. Earlier routes take precedence.
"""

from __future__ import annotations

from holdfast.dashboard.pages import (
    bulk,
    chain,
    chains,
    changes,
    complete,
    errors,
    jobs,
    limits,
    overview,
    queues,
    schedules,
    search,
    steps,
    workers,
)
from holdfast.dashboard.routing import NavigationEntry, PageRoute

PAGES = (overview, jobs, chains, errors, limits, schedules, workers, queues)
"""In the order of the navigation."""
OTHERS = (bulk, chain, changes, complete, search, steps)

NAVIGATION: list[NavigationEntry] = [page.NAVIGATION for page in PAGES]
ROUTES: list[PageRoute] = [route for page in (*PAGES, *OTHERS) for route in page.ROUTES]
