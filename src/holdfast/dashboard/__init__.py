"""The web dashboard: an ASGI application that shows jobs and lets operators change them."""

from holdfast.errors import MissingExtra

try:
    from holdfast.dashboard.access import Access
    from holdfast.dashboard.app import dashboard
    from holdfast.dashboard.wsgi import wsgi_dashboard
except ModuleNotFoundError as error:
    if error.name is None or error.name.startswith("holdfast"):
        raise
    raise MissingExtra("holdfast.dashboard", "dashboard") from error

__all__ = ["Access", "dashboard", "wsgi_dashboard"]
