"""The settings of one dashboard."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from starlette.requests import Request

from holdfast.bulk import BulkRunner
from holdfast.client.client import Client
from holdfast.dashboard.access import Access, Authorize, access_of
from holdfast.dashboard.live import Changes
from holdfast.dashboard.login import TokenLogin
from holdfast.dashboard.routing import NavigationEntry
from holdfast.dashboard.shared import Shared
from holdfast.dashboard.view import url


class NavigationLink(NamedTuple):
    """An entry of the navigation on a page."""

    title: str
    url: str
    current: bool


@dataclass(frozen=True, slots=True)
class DashboardSettings:
    """What the application passed to `dashboard`, and what all requests share."""

    client: Client
    authorize: Authorize | None
    """None: every viewer is an administrator."""
    login: TokenLogin | None
    read_only: bool
    timeout: float
    pages: Sequence[NavigationEntry]
    changes: Changes
    bulk: BulkRunner
    """Runs bulk actions in this process."""
    shared: Shared

    async def access(self, request: Request) -> Access | None:
        """What the viewer may do; None: the viewer has no access."""
        if self.login is not None:
            access = self.login.access(request)
        elif self.authorize is not None:
            access = await access_of(request, self.authorize)
        else:
            access = Access("admin")
        return access.limited_to("read") if access is not None and self.read_only else access

    def navigation(self, request: Request) -> list[NavigationLink]:
        """The entries, with a mark at the current page."""
        here = request.url.path
        links: list[NavigationLink] = []
        for page in self.pages:
            target = url(request, page.path)
            current = here.rstrip("/") == target.rstrip("/") or (page.path != "/" and here.startswith(f"{target}/"))
            links.append(NavigationLink(page.title, target, current))
        return links
