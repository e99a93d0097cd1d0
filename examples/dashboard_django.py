"""The dashboard beside Django, under ASGI and under WSGI. Staff operate, superusers may do everything.

`uvicorn dashboard_django:application` serves both; a WSGI server takes `wsgi_application`, without live updates.
"""

import asyncio
import os
import tempfile
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import django
from django.conf import settings
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Mount

from holdfast import Client, Jobs
from holdfast.dashboard import Access, dashboard, wsgi_dashboard

FOLDER = tempfile.mkdtemp(prefix="holdfast-example-")
STORE = os.environ.get("STORE", f"sqlite:///{FOLDER}/jobs.db")

settings.configure(
    SECRET_KEY="only for this example",
    ALLOWED_HOSTS=["*"],
    ROOT_URLCONF=__name__,
    INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions"],
    MIDDLEWARE=["django.contrib.sessions.middleware.SessionMiddleware"],
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": f"{FOLDER}/site.db"}},
)
django.setup()

from django.contrib.auth import get_user  # noqa: E402 - Django is configured before
from django.contrib.sessions.backends.db import SessionStore  # noqa: E402
from django.core.handlers.asgi import ASGIHandler  # noqa: E402
from django.core.handlers.wsgi import WSGIHandler  # noqa: E402

urlpatterns: list[Any] = []
jobs = Jobs()


@jobs.job
async def greet(name: str) -> str:
    return f"hello {name}"


def authorize(request: Request) -> Access | None:
    """Who is logged in to Django. A plain function runs in a thread, where the ORM may be used."""
    session = SessionStore(request.cookies.get(settings.SESSION_COOKIE_NAME))
    user: Any = get_user(SimpleNamespace(session=session))  # type: ignore[arg-type]
    if not user.is_staff:
        return None
    return Access("admin" if user.is_superuser else "operate", user=user.get_username())


client = Client(STORE, jobs)


@asynccontextmanager
async def lifespan(app: Starlette) -> AsyncGenerator[None]:
    async with client:
        yield


application = Starlette(
    routes=[Mount("/jobs", dashboard(client, authorize)), Mount("/", ASGIHandler())], lifespan=lifespan
)

board = wsgi_dashboard(Client(STORE, jobs), authorize)
site = WSGIHandler()


def wsgi_application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    path = environ["PATH_INFO"]
    if path != "/jobs" and not path.startswith("/jobs/"):
        return site(environ, start_response)  # type: ignore[return-value]
    moved = {"SCRIPT_NAME": environ.get("SCRIPT_NAME", "") + "/jobs", "PATH_INFO": path.removeprefix("/jobs")}
    return board({**environ, **moved}, start_response)


def prepare() -> dict[str, str]:
    """Create the tables and two users, log both in, and return their session keys."""
    from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
    from django.contrib.auth.models import User
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    keys: dict[str, str] = {}
    for name, options in {"ada": {"is_superuser": True, "is_staff": True}, "guest": {}}.items():
        user = User.objects.create_user(name, **options)
        session = SessionStore()
        session[SESSION_KEY], session[BACKEND_SESSION_KEY] = user.pk, "django.contrib.auth.backends.ModelBackend"
        session[HASH_SESSION_KEY] = user.get_session_auth_hash()
        session.save()
        keys[name] = str(session.session_key)
    return keys


async def main(keys: dict[str, str]) -> None:
    from httpx import ASGITransport, AsyncClient

    async with (
        lifespan(application),
        AsyncClient(transport=ASGITransport(application), base_url="http://example") as http,
    ):
        await client.start(greet.bind("Grace"), delay=3600)
        for name, key in keys.items():
            page = await http.get("/jobs/jobs", headers={"cookie": f"sessionid={key}"})
            print(f"ASGI, {name}: {page.status_code}, sees the job: {'greet' in page.text}")


def main_wsgi(keys: dict[str, str]) -> None:
    from httpx import Client as HttpClient
    from httpx import WSGITransport

    with HttpClient(transport=WSGITransport(wsgi_application), base_url="http://example") as http:
        page = http.get("/jobs/jobs", headers={"cookie": f"sessionid={keys['ada']}"})
        print(f"WSGI, ada: {page.status_code}, sees the job: {'greet' in page.text}, live: {'data-live' in page.text}")
    board.close()


if __name__ == "__main__":
    session_keys = prepare()
    asyncio.run(main(session_keys))
    main_wsgi(session_keys)
