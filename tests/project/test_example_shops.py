"""The example applications pass their own tests."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

import pytest

from tests.project.snippets import ROOT
from tests.servers.postgres import shared_postgres


def new_database() -> str:
    name = f"shop{uuid4().hex[:12]}"
    with shared_postgres().connect() as connection:
        connection.execute(f"create database {name}".encode())
    return shared_postgres().address(database=name)


@pytest.mark.parametrize(("shop", "store"), [("fastapi_shop", "postgres"), ("flask_shop", "sqlite")])
def test_the_shop_passes_its_tests(shop: str, store: str, tmp_path: Path) -> None:
    address = new_database() if store == "postgres" else f"sqlite:///{tmp_path}/shop.db"

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:valkey", "-p", "no:xdist"],
        cwd=ROOT / "examples" / shop,
        env={**os.environ, "DATABASE_URL": address, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )

    assert "5 passed" in done.stdout, done.stdout


def test_the_list_of_examples_names_the_shops() -> None:
    listed = (ROOT / "examples/README.md").read_text()

    assert all(f"({shop}/README.md)" in listed for shop in ("fastapi_shop", "flask_shop"))
