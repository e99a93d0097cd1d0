"""An integration whose library is not installed names the extra to install."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import sys
from importlib import import_module

from holdfast import MissingExtra

for library in ("flask", "sqlalchemy", "alembic", "fastapi", "starlette"):
    sys.modules[library] = None
import_module("holdfast.contrib.fastapi")  # Litestar needs neither FastAPI nor Starlette
from holdfast.contrib.fastapi import Holdfast

holdfast = Holdfast("memory://")
for use in (
    lambda: import_module("holdfast.contrib.flask"),
    lambda: import_module("holdfast.contrib.sqlalchemy"),
    lambda: holdfast.starter(print),
    lambda: holdfast.background_tasks(),
    lambda: holdfast.router(None),
):
    try:
        use()
    except MissingExtra as error:
        print(error)
del sys.modules["sqlalchemy"]
try:
    import_module("holdfast.contrib.sqlalchemy.alembic")
except MissingExtra as error:
    print(error)
"""


def test_a_missing_library_is_reported_as_the_extra_to_install() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, timeout=240, check=False)

    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line.partition("[")[2].partition("]")[0] for line in lines] == [
        "flask", "sqlalchemy", "fastapi", "fastapi", "fastapi", "alembic",
    ]  # fmt: skip
