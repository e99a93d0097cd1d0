"""`--app MODULE:JOBS`: every problem is reported in one line."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from holdfast.cli.app import app
from holdfast.cli.exit_codes import Mistake
from holdfast.cli.load_app import load_jobs


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A working directory for one test. Its modules are removed from `sys.modules` afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    known = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - known:
        del sys.modules[name]


def test_a_module_of_the_working_directory_is_found(here: Path) -> None:
    (here / "shop_one.py").write_text("from holdfast import Jobs\njobs = Jobs()\n@jobs.job\ndef sell() -> None: ...\n")

    assert [job_type.name for job_type in load_jobs("shop_one:jobs")] == ["sell"]
    assert load_jobs("shop_one") is load_jobs("shop_one:jobs")


def test_a_registry_may_sit_deeper(here: Path) -> None:
    (here / "shop_two.py").write_text("from holdfast import Jobs\nclass app:\n    registry = Jobs()\n")

    assert len(load_jobs("shop_two:app.registry")) == 0


def test_a_mistake_names_where_the_app_was_named(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOLDFAST_APP", raising=False)
    (here / "holdfast.toml").write_text('store = "sqlite:///jobs.db"\napp = "nowhere:jobs"\n')

    for command, named in (
        (["worker"], "app of holdfast.toml 'nowhere:jobs': there is no module"),
        (["worker", "--app", "none:jobs"], "--app 'none:jobs': there is no module"),
        (["supervise", "none:jobs"], "error: 'none:jobs': there is no module"),
    ):
        assert named in CliRunner().invoke(app, command).stderr


def test_a_worker_on_a_memory_store_is_refused() -> None:
    answer = CliRunner().invoke(app, ["worker", "--store", "memory://", "--app", "tests.edges.cli.shop:jobs"])

    assert (answer.exit_code, "exists in one process only" in answer.stderr) == (2, True)


@pytest.mark.parametrize(
    ("source", "app", "complaint"),
    [
        ("", "no_such_module:jobs", "there is no module 'no_such_module' in"),
        ("", "3shop:jobs", "write MODULE:JOBS"),
        ("", ":jobs", "write MODULE:JOBS"),
        ("", "broken_shop:jobs", "'jobs' is nothing in broken_shop"),
        ("jobs = []", "broken_shop:jobs", "'jobs' is a list in broken_shop, not a Jobs registry"),
        ("from holdfast import Jobs\nwork = Jobs()", "broken_shop", "it has broken_shop:work"),
        ("x = 1\ny = 1 / 0", "broken_shop", r"ZeroDivisionError: division by zero \(.*broken_shop.py, line 2\)"),
        ("def f(:", "broken_shop", r"SyntaxError: .*broken_shop.py, line 1\)"),
        ("import not_installed_here", "broken_shop", "ModuleNotFoundError: No module named 'not_installed_here'"),
    ],
)
def test_what_is_wrong_is_a_mistake_in_one_line(here: Path, source: str, app: str, complaint: str) -> None:
    (here / "broken_shop.py").write_text(source)

    with pytest.raises(Mistake, match=complaint) as raised:
        load_jobs(app)

    assert "\n" not in str(raised.value)
