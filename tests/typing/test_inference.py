"""mypy and pyright, both strict, infer the types of job types from their signatures."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.project.test_readme import quickstart

HERE = Path(__file__).parent
ACCEPTED = "accepted.py"
REJECTED = "rejected.py"


def mypy(folder: Path) -> dict[str, dict[int, str]]:
    """The errors mypy finds, by file and line."""
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "."]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    found: dict[str, dict[int, str]] = {}
    for name, line, text in re.findall(r"^(\S+?\.py):(\d+): error: (.*)$", ran.stdout, re.MULTILINE):
        found.setdefault(name, {})[int(line)] = text
    assert ran.returncode in (0, 1), ran.stdout + ran.stderr
    return found


def pyright(folder: Path) -> dict[str, dict[int, str]]:
    """The errors pyright finds, by file and line."""
    # Names and expressions here exist to be checked, not to be used.
    settings = {"typeCheckingMode": "strict", "reportUnusedExpression": False, "reportUnusedVariable": False}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, "-p", str(folder)]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    found: dict[str, dict[int, str]] = {}
    for each in json.loads(ran.stdout)["generalDiagnostics"]:
        if each["severity"] == "error":
            line = each["range"]["start"]["line"] + 1
            found.setdefault(Path(each["file"]).name, {})[line] = each["message"]
    return found


@pytest.fixture(scope="module", params=[mypy, pyright], ids=["mypy", "pyright"])
def errors(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[int, str]]:
    folder = tmp_path_factory.mktemp("typing")
    (folder / ACCEPTED).write_text((HERE / ACCEPTED).read_text())
    (folder / REJECTED).write_text((HERE / "rejected.txt").read_text())
    for snippet in quickstart():
        if snippet.file is not None:
            (folder / snippet.file).write_text(snippet.text)
    found: dict[str, dict[int, str]] = request.param(folder)
    return found


def test_right_code_is_accepted_and_its_types_are_inferred(errors: dict[str, dict[int, str]]) -> None:
    assert errors.get(ACCEPTED, {}) == {}


def test_the_quickstart_of_the_readme_is_accepted(errors: dict[str, dict[int, str]]) -> None:
    files = {"shop.py", "place_orders.py", "finish.py"}

    assert {snippet.file for snippet in quickstart() if snippet.file is not None} == files
    assert {file: errors[file] for file in files & errors.keys()} == {}


def test_wrong_code_is_rejected_where_it_is_wrong(errors: dict[str, dict[int, str]]) -> None:
    lines = (HERE / "rejected.txt").read_text().splitlines()
    marked = {number for number, line in enumerate(lines, 1) if "# error" in line}

    found = errors[REJECTED]

    assert {number: lines[number - 1] for number in marked - found.keys()} == {}
    assert {number: text for number, text in found.items() if number not in marked} == {}
