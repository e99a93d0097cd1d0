"""What an installation of Holdfast contains."""

import json
import re
from importlib.metadata import entry_points, requires
from importlib.resources import files

from tests.project.snippets import ROOT
from tools.lowest import lowest
from tools.sbom import VENDORED, bill


def test_type_checkers_find_the_marker_that_says_the_package_is_typed() -> None:
    assert files("holdfast").joinpath("py.typed").is_file()


def test_pytest_loads_the_plugin_by_itself() -> None:
    (plugin,) = entry_points(group="pytest11", name="holdfast")

    assert plugin.load().__name__ == "holdfast.testing.plugin"


def test_a_plain_install_brings_no_database_driver_and_no_framework() -> None:
    always = [requirement for requirement in requires("holdfast") or [] if "extra ==" not in requirement]

    assert sorted(name.split(">")[0] for name in always) == ["cronsim", "msgspec", "rich", "typer"]


def test_the_bill_of_materials_is_up_to_date() -> None:
    """`make dist` writes it."""
    assert (ROOT / "sbom.cdx.json").read_text(encoding="utf-8") == bill()


def test_the_bill_of_materials_lists_each_part_once_and_the_versions_of_browser_libraries() -> None:
    parts = json.loads(bill())["components"]
    references = [each["bom-ref"] for each in parts]

    assert len(references) == len(set(references))
    versions = {each["name"]: each["version"] for each in parts if each["purl"].startswith("pkg:npm/")}
    assert versions.keys() == {"htmx.org", "uplot"}
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in versions.values())
    files = {file["name"] for each in parts for file in each.get("components", [])}
    assert files == {f"holdfast/dashboard/static/vendor/{path.name}" for path in VENDORED.glob("*.min.*")}


def test_every_dependency_has_a_lower_bound_that_can_be_tested() -> None:
    pinned = lowest((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

    assert {"msgspec==0.22.*", "psycopg[binary]==3.2.4", "hiredis==3.0.*"} <= set(pinned)
    assert all("==" in each for each in pinned)


def test_workflows_pin_actions_by_hash_and_publish_with_attestations() -> None:
    workflows = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / ".github/workflows").glob("*.yml")}
    used = re.findall(r"uses: (.+)", "\n".join(workflows.values()))

    assert used
    assert [each for each in used if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v[\d.]+", each)] == []
    assert {"id-token: write", "attestations: true"} <= {line.strip() for line in workflows["release.yml"].splitlines()}
