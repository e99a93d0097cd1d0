"""What an installed Holdfast brings with it."""

from importlib.metadata import entry_points, requires
from importlib.resources import files


def test_type_checkers_find_the_marker_that_says_the_package_is_typed() -> None:
    assert files("holdfast").joinpath("py.typed").is_file()


def test_pytest_loads_the_plugin_by_itself() -> None:
    (plugin,) = entry_points(group="pytest11", name="holdfast")

    assert plugin.load().__name__ == "holdfast.testing.plugin"


def test_a_plain_install_brings_no_database_driver_and_no_framework() -> None:
    always = [requirement for requirement in requires("holdfast") or [] if "extra ==" not in requirement]

    assert sorted(name.split(">")[0] for name in always) == ["msgspec", "rich", "typer"]
