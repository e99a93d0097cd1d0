"""One request to the dashboard: who asks, what may be read and changed, and how to answer."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote, unquote, urlencode

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from holdfast.core.job import Chain, Job
from holdfast.dashboard.access import Access, Role
from holdfast.dashboard.operator import Operator
from holdfast.dashboard.redaction import Redaction
from holdfast.dashboard.rendering import render
from holdfast.dashboard.static_files import static_files
from holdfast.dashboard.text import in_url
from holdfast.dashboard.viewer import Viewer

if TYPE_CHECKING:
    from holdfast.dashboard.settings import DashboardSettings

MOST_FORM_BYTES = 64 * 1024
_NOTICE = "holdfast_notice"


class View:
    """What the function of a page receives."""

    def __init__(self, request: Request, settings: DashboardSettings, access: Access) -> None:
        self.request = request
        self.settings = settings
        self.access = access
        self.viewer = Viewer(settings.client, access, settings.shared, timeout=settings.timeout)
        """Reads, restricted to what the viewer may see."""
        self.operator = Operator(settings.client, access, self.viewer)
        """Changes, with the checks of roles and types, and with the user in the audit."""
        self.redaction = Redaction(access.redact)
        """Inputs, outputs, errors and logs as they may be shown."""

    @property
    def query(self) -> Mapping[str, str]:
        """The parameters of the URL."""
        return self.request.query_params

    async def form(self) -> dict[str, str]:
        """The fields of a posted form. Of a repeated field the last one counts."""
        return dict(await self.fields())

    async def fields(self) -> list[tuple[str, str]]:
        """The fields of a posted form, in order."""
        body = bytearray()
        async for part in self.request.stream():
            body += part
            if len(body) > MOST_FORM_BYTES:
                raise HTTPException(413, "The form is too large.")
        fields = parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True)
        if any("\0" in value for _, value in fields):
            raise HTTPException(400, "The form contains a NUL character.")
        return fields

    def url(self, path: str, **query: str | None) -> str:
        """A URL of the dashboard, wherever it is mounted."""
        return url(self.request, path, **query)

    def live(self, chain_id: str | None = None) -> str:
        """For `page(..., live=view.live())`: replace the regions of the page when a job changes, or one of a chain."""
        # Under WSGI a waiting response would occupy a thread.
        return "" if "wsgi_environ" in self.request.scope else self.url("/live", chain=chain_id)

    def page(self, template: str, /, *, status: int = 200, **values: Any) -> Response:
        """The answer with a template that extends `base.html`."""
        return page(self.request, self.settings, template, status=status, view=self, access=self.access, **values)

    def back(self, path: str, notice: str, *, problem: bool = False) -> Response:
        """After a change: show the page `path` (as from `url`) with a notice."""
        response = RedirectResponse(path if _is_own(self.request, path) else self.url("/"), 303)
        response.set_cookie(
            _NOTICE, quote(("!" if problem else " ") + notice[:500]), max_age=30, path=cookie_path(self.request),
            httponly=True, samesite="strict", secure=self.request.url.scheme == "https",
        )  # fmt: skip
        return response


def page(
    request: Request, settings: DashboardSettings, template: str, /, *, status: int = 200, **values: Any
) -> Response:
    """A page, for viewers with and without access."""
    notice = unquote(request.cookies.get(_NOTICE, ""))
    found: dict[str, Any] = {
        "view": None,
        "access": None,
        "url": partial(url, request),
        "static": partial(_static, request),
        "link": partial(link, request),
        "chain_link": partial(chain_link, request),
        "may": partial(_may, values.get("access")),
        "here": request.url.path,
        "address": _address(request),
        "navigation": settings.navigation(request),
        "read_only": settings.read_only,
        "token": settings.login is not None,
        "notice": notice[1:],
        "problem": notice.startswith("!"),
        "live": "",
        **values,
    }
    response = HTMLResponse(render(template, found), status)
    if notice:
        response.delete_cookie(_NOTICE, path=cookie_path(request))
    return response


def url(request: Request, path: str, **query: str | None) -> str:
    """A URL of the dashboard without scheme and host: a proxy may use others."""
    root: str = request.scope.get("root_path", "").rstrip("/")
    given = {name: value for name, value in query.items() if value}
    return f"{root}{path}" + (f"?{urlencode(given)}" if given else "")


def _static(request: Request, name: str) -> str:
    return url(request, static_files()[name].path)


def chain_link(request: Request, chain_id: str) -> str:
    """The page of a chain. An id that browsers would change in a path is given in the query."""
    if "/" in chain_id or "\\" in chain_id or chain_id.strip(".") == "":
        return url(request, "/chains/-", id=chain_id)
    return url(request, f"/chains/{in_url(chain_id)}")


def link(request: Request, item: Chain[Any] | Job) -> str:
    """The page of a chain, or the place of a job on the page of its chain."""
    if isinstance(item, Job) and item.index:
        return f"{chain_link(request, item.chain_id)}#job-{item.index}"
    return chain_link(request, item.chain_id if isinstance(item, Job) else item.id)


def cookie_path(request: Request) -> str:
    """The path of the dashboard, for its cookies."""
    root: str = request.scope.get("root_path", "")
    return root.rstrip("/") + "/"


def _address(request: Request) -> str:
    """Path and query of this request, as the browser sent them."""
    return request.url.path + (f"?{request.url.query}" if request.url.query else "")


def _is_own(request: Request, path: str) -> bool:
    """Whether a target of a redirect is a path of this dashboard."""
    return (
        path.startswith(cookie_path(request)) and not path.startswith("//") and "\\" not in path and path.isprintable()
    )


def _may(access: Access | None, role: Role) -> bool:
    return access is not None and access.may(role)
