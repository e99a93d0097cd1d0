"""Which tests of the integration run: all of them with `make django`, a short selection with `make test`.

Each test starts several processes, so the suite tries most commands on SQLite only. Tests that download Django's own
tests are collected with `make django` alone.
"""

from __future__ import annotations

import os

import pytest

from tests.contrib.django.projects import postgres_project, sqlite_project

EVERYTHING = bool(os.environ.get("HOLDFAST_DJANGO"))
BOTH = [sqlite_project, pytest.param(postgres_project, marks=pytest.mark.postgres)]
SELECTED = BOTH if EVERYTHING else [sqlite_project]
