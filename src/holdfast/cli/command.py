"""The decorator that makes a function a command, and the options that all commands share."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Concatenate, ParamSpec, cast

import typer

from holdfast.cli.exit_codes import Exit, Mistake
from holdfast.cli.filters import FILTER_OPTIONS, Filters, read_filters
from holdfast.cli.invocation import Invocation
from holdfast.cli.settings import Flags
from holdfast.errors import HoldfastError
from holdfast.stores.sharded.address import is_sharded

P = ParamSpec("P")

_PANEL = "Options of every command"

Store = Annotated[
    list[str] | None,
    typer.Option(
        "--store",
        metavar="URL",
        help="Address of the store; for shards NAME=URL, repeated. Default: HOLDFAST_STORE, else the file.",
        rich_help_panel=_PANEL,
    ),
]
App = Annotated[
    str | None,
    typer.Option(
        "--app",
        metavar="MODULE:JOBS",
        help="The job types. `start`, `schedule`, `worker` and `supervise` default to HOLDFAST_APP, else the file.",
        rich_help_panel=_PANEL,
    ),
]
ConfigFile = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="Read FILE, not ./holdfast.toml.", rich_help_panel=_PANEL),
]
Json = Annotated[bool, typer.Option("--json", help="Answer in JSON.", rich_help_panel=_PANEL)]


def _shared(
    ctx: typer.Context, *, store: Store = None, app: App = None, config: ConfigFile = None, json: Json = False
) -> Flags:
    outer = ctx.obj if isinstance(ctx.obj, Flags) else Flags()
    return Flags(one_address(store), app, config, json).over(outer)


def one_address(stores: list[str] | None) -> str | None:
    """The addresses of --store as one text. Several need the names of their shards."""
    if not stores:
        return None
    if len(stores) > 1 and not all(is_sharded(each) for each in stores):
        raise typer.BadParameter("several stores are the shards of one: give each as NAME=URL", param_hint="--store")
    return " ".join(stores)


SHARED = inspect.signature(_shared, eval_str=True).parameters


def flags_of(given: dict[str, Any]) -> Flags:
    """Remove the shared options from the arguments of a command, and return them."""
    return _shared(**{name: given.pop(name) for name in SHARED})


def command(function: Callable[Concatenate[Invocation, P], None]) -> Callable[..., None]:
    """Make a function a command: add the shared options, and turn errors into a message and an exit code.

    A parameter `filters` of the type Filters stands for the options that select chains or jobs.
    """
    own = list(inspect.signature(function, eval_str=True).parameters.values())[1:]
    filtered = any(each.annotation is Filters for each in own)
    if filtered:
        own = [option for each in own for option in (FILTER_OPTIONS.values() if each.annotation is Filters else [each])]

    @functools.wraps(function)
    def run(**given: Any) -> None:
        invocation = Invocation(flags_of(given))
        try:
            for name, value in given.items():
                check_text(name, value)
            if filtered:
                given["filters"] = read_filters(**{name: given.pop(name) for name in FILTER_OPTIONS})
            function(invocation, **given)  # type: ignore[call-arg]
        except (HoldfastError, Mistake) as error:
            invocation.refuse(error)
        except KeyboardInterrupt:
            raise typer.Exit(Exit.INTERRUPTED) from None

    context, *shared = SHARED.values()
    parameters = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in (context, *own, *shared)]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


def check_text(name: str, value: object) -> None:
    """Refuse text that no store can hold: with a NUL character, or from bytes that are not UTF-8."""
    if isinstance(value, list):
        for each in cast("list[object]", value):
            check_text(name, each)
    elif isinstance(value, str) and ("\0" in value or (not value.isascii() and _has_surrogates(value))):
        raise Mistake(f"{name}: {value!r} is not text: it has a NUL, or bytes that are not UTF-8")


def _has_surrogates(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


@contextmanager
def checked() -> Generator[None]:
    """Report a ValueError or TypeError of the library as a Mistake: the user gave the value."""
    try:
        yield
    except HoldfastError:
        raise
    except (ValueError, TypeError) as error:
        raise Mistake(str(error)) from error
