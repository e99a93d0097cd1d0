"""`holdfast.toml`, and the order in which settings are looked up."""

from pathlib import Path

import pytest

from holdfast.cli.config_file import Config, read_config
from holdfast.cli.exit_codes import Mistake
from holdfast.cli.settings import Flags, resolve


def written(folder: Path, text: str) -> Path:
    path = folder / "holdfast.toml"
    path.write_text(text)
    return path


def test_the_file_names_the_store_and_the_app(tmp_path: Path) -> None:
    path = written(tmp_path, 'store = "sqlite:///jobs.db"\napp = "shop:jobs"\n')

    assert read_config(path) == Config(path, "sqlite:///jobs.db", app="shop:jobs")


def test_the_working_directory_s_file_is_found_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path, 'store = "sqlite:///jobs.db"')
    monkeypatch.chdir(tmp_path)

    assert read_config(None).store == "sqlite:///jobs.db"


def test_no_file_says_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    assert read_config(None) == Config()


def test_environment_variables_are_put_in(tmp_path: Path) -> None:
    path = written(tmp_path, 'store = "postgresql://app:${PASSWORD}@db/$$x"')

    assert read_config(path, {"PASSWORD": "s3cret"}).store == "postgresql://app:s3cret@db/$x"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('# first\nstore = "x://${NOPE}"', "line 2, store: the environment variable NOPE is not set"),
        ('store = "x://${}"', r"line 1, store: '\$\{\}' names no environment variable"),
        ('store = "x://${A B}"', "names no environment variable"),
        ("\n\nstore = 3", "line 3, store: must be a text in quotes, not int"),
        ('store = ["a"]', "line 1, store: must be a text in quotes, not list"),
        ('stor = "sqlite:///x"', "line 1, stor: unknown key; did you mean store"),
        ("zzz = 1", "line 1, zzz: unknown key; it has no meaning"),
        ("[workers]\n\nconcurrency = 0", r"line 3, workers.concurrency: must be a whole number from 1, not 0"),
        ('[workers.cpu]\nconcurrency = 1\ntypes = ["a"]\n[workers]\nconcurrency = "4"', "line 5, workers.concurrency"),
        ("workers.concurrency = true", "line 1, workers.concurrency"),
        ("workers = 3", "line 1, workers"),
        ("store = @\n", "line 1"),
    ],
)
def test_a_complaint_names_the_file_the_line_and_the_key(tmp_path: Path, text: str, complaint: str) -> None:
    path = written(tmp_path, text)

    with pytest.raises(Mistake, match=complaint) as raised:
        read_config(path, {})

    assert str(path) in str(raised.value)


def test_tables_of_other_commands_are_read_too_and_leave_the_rest_alone(tmp_path: Path) -> None:
    path = written(tmp_path, "[work_kinds.slow]\nduration = 3\n[workers.cpu]\ntypes = ['resize']\nconcurrency = 2")

    assert read_config(path) == Config(path)


def test_a_file_that_is_asked_for_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(Mistake, match=r"gone\.toml: cannot be read: No such file"):
        read_config(tmp_path / "gone.toml")


def test_a_file_that_is_no_text_is_a_mistake(tmp_path: Path) -> None:
    path = tmp_path / "holdfast.toml"
    path.write_bytes(b"\xff\xfe")

    with pytest.raises(Mistake, match="not UTF-8"):
        read_config(path)


def test_the_command_line_comes_first_then_the_environment_then_the_file(tmp_path: Path) -> None:
    path = written(tmp_path, 'store = "file"\napp = "file"')
    environment = {"HOLDFAST_STORE": "environment", "HOLDFAST_APP": "environment"}

    typed = resolve(Flags(store="typed", config=path), environment)
    reported = resolve(Flags(config=path), environment)
    found = resolve(Flags(config=path), {})

    assert (typed.store, typed.app, typed.app_from) == ("typed", "environment", "HOLDFAST_APP")
    assert (reported.store, reported.store_from) == ("environment", "HOLDFAST_STORE")
    assert (found.store, found.app, found.store_from) == ("file", "file", str(path))


def test_a_store_from_elsewhere_keeps_the_wake_ups_of_the_file(tmp_path: Path) -> None:
    path = written(tmp_path, 'wakeups = "redis://cache"')
    reported = {"HOLDFAST_STORE": "postgresql://db/shop"}

    found = resolve(Flags(config=path), reported)
    typed = resolve(Flags(store="sqlite:///jobs.db", config=path), reported)
    other = resolve(Flags(config=path), {**reported, "HOLDFAST_WAKEUPS": "redis://other"})

    assert found.need_store() == "postgresql://db/shop?wakeups=redis%3A%2F%2Fcache"
    assert (found.wakeups, found.wakeups_from) == ("redis://cache", str(path))
    assert typed.need_store() == "sqlite:///jobs.db?wakeups=redis%3A%2F%2Fcache"
    assert (other.wakeups, other.wakeups_from) == ("redis://other", "HOLDFAST_WAKEUPS")


@pytest.mark.parametrize("store", ["redis://cache", "memory://x", "sqlite:///a.db?wakeups=", "sqlite:///a?wakeups=x"])
def test_a_store_that_has_wake_ups_takes_no_others(tmp_path: Path, store: str) -> None:
    path = written(tmp_path, 'wakeups = "redis://cache"')

    assert resolve(Flags(store=store, config=path), {}).need_store() == store


@pytest.mark.parametrize(
    ("store", "complaint"),
    [
        ("redis://h", "line 2, wakeups: is for a SQL store; a redis:// store sends its own"),
        ("sqlite:///a?wakeups=x", "line 2, wakeups: is given twice"),
    ],
)
def test_wake_ups_that_do_not_fit_the_file_s_own_store_are_a_mistake(
    tmp_path: Path, store: str, complaint: str
) -> None:
    path = written(tmp_path, f'store = "{store}"\nwakeups = "redis://cache"')

    with pytest.raises(Mistake, match=complaint):
        read_config(path, {})


def test_a_missing_store_is_an_error_that_names_all_three_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = resolve(Flags(), {})

    with pytest.raises(Mistake, match=r"--store .*HOLDFAST_STORE.*holdfast\.toml"):
        settings.need_store()
    with pytest.raises(Mistake, match=r"--app .*HOLDFAST_APP.*holdfast\.toml"):
        settings.need_app()
