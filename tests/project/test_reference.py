"""The generated reference contains every public name, option and event."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import pytest
import typer

import holdfast
from holdfast.cli.app import app
from holdfast.engine import events
from tests.project.snippets import ROOT
from tools.site.plain_reference import expanded
from tools.site.reference import MODULES, PARTS, exported, only_in, write_reference

KINDS = {**events.JOB_EVENTS, **events.WORKER_EVENTS, **events.PROCESS_EVENTS}


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("reference")
    write_reference(folder)
    return {page.stem: page.read_text(encoding="utf-8") for page in folder.glob("*.md")}


def test_every_public_name_is_documented(pages: dict[str, str]) -> None:
    documented = set(re.findall(r"^\.\. auto\w+:: ([\w.]+)", "\n".join(pages.values()), re.MULTILINE))
    public = {f"holdfast.{name}" for name in holdfast.__all__}
    public |= {f"holdfast.{module}.{name}" for modules in MODULES.values() for module in modules
               for name in exported(module)}  # fmt: skip
    public |= {f"holdfast.{module}.{name}" for modules in PARTS.values() for module in modules
               for name in only_in(module)}  # fmt: skip

    assert "holdfast.worker.Done" in public  # what `complete()` returns
    assert public == documented


def test_the_markdown_version_contains_signatures_and_docstrings(pages: dict[str, str]) -> None:
    text = expanded(pages["run"])

    assert "eval-rst" not in text
    assert "Worker.run(self" in text
    assert (inspect.getdoc(holdfast.Worker) or "missing") in text


def test_every_integration_is_documented() -> None:
    folders = {path.stem for path in Path(ROOT / "src/holdfast/contrib").iterdir() if path.stem[0] != "_"}
    named = {module.split(".")[1] for modules in MODULES.values() for module in modules if "." in module}

    assert folders - {"starter", "web"} == named  # these two hold what the integrations share


def test_every_command_and_option_is_documented(pages: dict[str, str]) -> None:
    group: Any = typer.main.get_command(app)
    for name, command in group.commands.items():
        assert f"## holdfast {name}\n" in pages["commands"]
        for each in [command, *getattr(command, "commands", {}).values()]:
            shown = [each for each in each.params if not getattr(each, "hidden", False) and each.name != "help"]
            for parameter in shown:
                option = parameter.opts[0] if parameter.opts[0][0] == "-" else parameter.metavar or parameter.name
                assert option in pages["commands"], (name, option)


def test_every_event_is_documented(pages: dict[str, str]) -> None:
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "src/holdfast").rglob("*.py")]
    emitted = re.findall(r'(?:observers\.emit|self\._emit|execution\.record)\(\s*"(\w+)"', "\n".join(sources))

    assert len(set(emitted)) > 20
    assert set(emitted) <= set(KINDS)
    assert all(f"| `{kind}` |" in pages["events"] for kind in KINDS)
