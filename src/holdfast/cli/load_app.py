"""Import the job types of an application, `MODULE:JOBS`, or a function of it, `MODULE:FUNCTION`."""

from __future__ import annotations

import importlib
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from holdfast.cli.exit_codes import Mistake
from holdfast.registry.jobs import Jobs


def load_jobs(app: str, named: str | None = None) -> Jobs:
    """The registry that `app` names. `MODULE` alone means `MODULE:jobs`. The working directory is on the import path.

    Every problem is a Mistake in one line, with the file and line at which the import failed. `named` says how the user
    named the application, if not by --app.
    """
    named = named or f"--app {app!r}"
    module_name, _, name = app.partition(":")
    found: Any = _module(module_name, named, example="MODULE:JOBS, such as shop.tasks:jobs")
    for part in (name or "jobs").split("."):
        found = getattr(found, part, None)
    if not isinstance(found, Jobs):
        offers = [each for each, value in vars(sys.modules[module_name]).items() if isinstance(value, Jobs)]
        hint = f"; it has {', '.join(f'{module_name}:{each}' for each in offers)}" if offers else ""
        what = "nothing" if found is None else f"a {type(found).__name__}"
        raise Mistake(f"{named}: {name or 'jobs'!r} is {what} in {module_name}, not a Jobs registry{hint}")
    return found


def load_function(target: str, named: str) -> Callable[..., Any]:
    """The function that `target` names. Every problem is a Mistake. `named` says how the user named it."""
    module_name, _, name = target.partition(":")
    found: Any = _module(module_name, named, example="MODULE:FUNCTION, such as shop.web:authorize")
    for part in name.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        raise Mistake(f"{named}: there is no function {name!r} in {module_name}")
    return found  # type: ignore[no-any-return]


def _module(module_name: str, named: str, *, example: str) -> ModuleType:
    """Import a module. The working directory is on the import path."""
    if not module_name or not all(part.isidentifier() for part in module_name.split(".")):
        raise Mistake(f"{named}: write {example}")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is not None and (module_name == error.name or module_name.startswith(f"{error.name}.")):
            raise Mistake(f"{named}: there is no module {error.name!r} in {here}, nor is it installed") from None
        raise _broken(named, error) from error
    except (Exception, SystemExit) as error:  # a script without a main guard may call sys.exit
        raise _broken(named, error) from error


def _broken(named: str, error: BaseException) -> Mistake:
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "importlib" not in frame.filename]
    if isinstance(error, SyntaxError):
        where = f" ({error.filename}, line {error.lineno})"
    else:
        where = f" ({frames[-1].filename}, line {frames[-1].lineno})" if len(frames) > 1 else ""
    return Mistake(f"{named} cannot be imported: {type(error).__name__}: {error}{where}")
