"""The mutants match the sources that they change, and the simulation detects some of them in seconds."""

from __future__ import annotations

import subprocess
import sys
from importlib import resources
from importlib.util import find_spec
from pathlib import Path

import pytest

from holdfast.stores.sql import files
from torture.mutants import MUTANTS, Edit

ROOT = Path(__file__).parents[2]
EDITS = [
    (name, edit)
    for name, mutant in MUTANTS.items()
    for store in ("memory", "sqlite", "postgres", "redis")
    for edit in (mutant.edits(store) if store in mutant.by_store or store == "memory" else ())
]


@pytest.mark.parametrize(("name", "edit"), EDITS, ids=[f"{name}: {edit.where}" for name, edit in EDITS])
def test_a_mutant_matches_the_sources(name: str, edit: Edit) -> None:
    assert edit.old in _text(edit.where), f"update the mutant {name!r}"


@pytest.mark.parametrize(
    ("name", "seeds"),
    [
        # A stale worker nearly always aborts itself before the fencing check, so this mutant needs more seeds.
        ("fence by status alone", 500),
        ("no keys", 60),
        ("claim too early", 60),
        ("complete twice", 60),
        ("claim more than asked", 60),
    ],
)
def test_the_simulation_catches_a_mutant(name: str, seeds: int) -> None:
    arguments = ["--mutant", name, "--number", str(seeds), "--seconds", "120"]

    ended = subprocess.run(
        [sys.executable, "-m", "torture.simulation", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert ended.returncode == 1, ended.stdout + ended.stderr
    assert any(f"I{number} VIOLATED" in ended.stdout for number in MUTANTS[name].caught_by), ended.stdout


def _text(where: str) -> str:
    if where.endswith(".lua"):
        return (resources.files("holdfast.stores.redis.scripts") / where).read_text("utf-8")
    if ":" in where:
        package, name = where.split(":")
        if package.endswith(".migrations"):
            return files.read(package)[name]
        return files.statements(package)[name]
    spec = find_spec(where)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).read_text("utf-8")
