"""`holdfast.toml`: all its keys, and the errors for wrong values."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from holdfast import Retry
from holdfast.config import ConfigError, FileSettings, read_settings
from holdfast.simulation import Duration
from holdfast.supervisor import Group

WHOLE = """
store = "postgresql://app:${PASSWORD}@db/jobs"
app = "shop.tasks:jobs"

[workers]
default_count = 3
max_count = 12
poll_interval_ms = 500
lease_timeout_seconds = 60
scale_interval_ms = 2000
scale_down_seconds = 30
concurrency = 20
grace_seconds = 40
timeout_seconds = 120
retry = "patient"

[workers.cpu]
types = ["resize", "encode"]
concurrency = 2
max_count = 4
memory_limit_mb = 512

[workers.mail]
queues = ["letters"]

[retry.patient]
max_retries = 9
initial_seconds = 30
multiplier = 3
maximum_seconds = 3600
jitter = 0.5

[retry.stubborn]
max_retries = "unlimited"

[work_kinds.resize]
duration = { normal = [0.2, 0.05] }
weight = 3

[work_kinds.upload]
duration = 1
fail_times = 2
retry = "patient"

[work_kinds.reject]
outcome = "fail"
retryable = false

[logging]
level = "debug"
format = "json"

[health]
listen = "0.0.0.0:9000"
"""


def read(folder: Path, text: str) -> FileSettings:
    path = folder / "holdfast.toml"
    path.write_text(text)
    return read_settings(path, {"PASSWORD": "s3cret"})


def test_a_whole_file(tmp_path: Path) -> None:
    settings = read(tmp_path, WHOLE)

    assert settings.store == "postgresql://app:s3cret@db/jobs"
    assert settings.app == "shop.tasks:jobs"
    patient = Retry(initial=30, multiplier=3, maximum=3600, jitter=0.5, max_attempts=10)
    assert settings.retries["patient"] == patient
    assert settings.retries["stubborn"].max_attempts is None
    usual, cpu, mail = settings.groups
    assert usual == Group(
        default_count=3, max_count=12, poll_without_wakeups=0.5, lease=60, scale_interval=2, scale_down_after=30,
        concurrency=20, grace=40, timeout=120, retry=patient,
    )  # fmt: skip
    assert (cpu.name, cpu.types, cpu.concurrency, cpu.max_count) == ("cpu", ("resize", "encode"), 2, 4)
    assert (mail.types, mail.queues, mail.concurrency) == (None, ("letters",), 20)
    assert (cpu.memory_limit, cpu.lease, cpu.retry) == (512 << 20, 60, patient)
    resize, upload, reject = settings.work_kinds
    assert (resize.duration, resize.weight) == (Duration("normal", (0.2, 0.05)), 3)
    assert (upload.duration, upload.fail_times, upload.retry) == (Duration("fixed", (1.0,)), 2, patient)
    assert (reject.outcome, reject.retryable) == ("fail", False)
    assert (settings.logging.level, settings.logging.json) == ("debug", True)
    assert settings.listen == ("0.0.0.0", 9000)  # noqa: S104 - read, not bound


def test_the_files_of_the_guide_are_read(tmp_path: Path) -> None:
    guide = (Path(__file__).parents[3] / "docs" / "supervisor.md").read_text()
    first, second = re.findall(r"```toml\n(.*?)```", guide, re.DOTALL)

    path = tmp_path / "holdfast.toml"
    path.write_text(first + second)
    settings = read_settings(path, {"DB_PASSWORD": "s3cret"})

    assert settings.groups[0] == Group(), "the guide shows the defaults"
    assert [kind.name for kind in settings.work_kinds] == ["thumbnail", "upload", "reject"]


def test_what_a_file_does_not_say_is_as_the_seed_has_it(tmp_path: Path) -> None:
    (group,) = read(tmp_path, "").groups

    assert (group.default_count, group.max_count, group.poll_without_wakeups, group.lease, group.scale_interval) == (
        2, 8, 0.25, 30, 1,
    )  # fmt: skip


def test_a_renewal_interval_belongs_to_the_lease_beside_it(tmp_path: Path) -> None:
    usual, same, longer, own = read(
        tmp_path,
        "[workers]\nlease_timeout_seconds = 60\nrenew_interval_seconds = 5\nmismatch_timeout_seconds = 90\n"
        "[workers.same]\ntypes = ['a']\n"
        "[workers.longer]\ntypes = ['b']\nlease_timeout_seconds = 600\n"
        "[workers.own]\ntypes = ['c']\nlease_timeout_seconds = 600\nrenew_interval_seconds = 90\n",
    ).groups

    assert [group.renew_interval for group in (usual, same, longer, own)] == [5, 5, None, 90]
    assert [group.mismatch_timeout for group in (usual, same, longer, own)] == [90] * 4


def test_the_retry_table_itself_is_the_default_policy(tmp_path: Path) -> None:
    settings = read(tmp_path, "[retry]\nmax_retries = 3\n")

    assert settings.groups[0].retry == Retry(max_attempts=4)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[workers]\ndefault_cout = 1", "line 2, workers.default_cout: unknown key; did you mean default_count?"),
        ("[workers]\n\nmax_count = 0", "line 3, workers.max_count: must be a whole number from 1, not 0"),
        ("[workers]\nmax_count = 2.5", "line 2, workers.max_count: must be a whole number from 1, not 2.5"),
        ("[workers]\nmax_count = true", "line 2, workers.max_count: must be a whole number from 1, not True"),
        (
            "[workers]\ndefault_count = 9",
            r"line 2, workers.default_count: default_count .9. must not exceed",
        ),
        ("[workers]\nmax_count = 1", r"line 2, workers.max_count: default_count \(2\) must not exceed max_count \(1\)"),
        ("[workers]\npoll_interval_ms = 0", "line 2, workers.poll_interval_ms: must be a number from 1, not 0"),
        ("[workers]\nlease_timeout_seconds = 0", "line 2, workers.lease_timeout_seconds: must be a number above 0"),
        (
            "[workers]\nrenew_interval_seconds = 30",
            r"line 2, workers.renew_interval_seconds: must be less than lease_timeout_seconds \(30\), not 30",
        ),
        ("[workers]\nrenew_interval_seconds = 0", "line 2, workers.renew_interval_seconds: must be a number above 0"),
        (
            "[workers]\nmismatch_timeout_seconds = -1",
            "line 2, workers.mismatch_timeout_seconds: must be a number from 0, not -1",
        ),
        ("[workers]\nlease_timeout_seconds = nan", "line 2, workers.lease_timeout_seconds: must be a number, not nan"),
        ('[workers]\nretry = "patient"', r"line 2, workers.retry: there is no \[retry.patient\]; there are: default"),
        ("[workers.cpu]\nconcurrency = 1", "line 1, workers.cpu.types: give types or queues"),
        ("[workers]\nlease_timeout_seconds = 1e300", "line 2, workers.lease_timeout_seconds: .* to 2147483647"),
        ("[workers]\nconcurrency = 9999999999", "line 2, workers.concurrency: .* to 2147483647"),
        ("[retry]\nmax_retries = 9999999999", "line 2, retry.max_retries: .* from 0 to"),
        ("[work_kinds.a]\nduration = {}", "line 2, work_kinds.a.duration: is seconds, or one of"),
        ('[work_kinds."a b"]', "line 1, work_kinds.a b: the name of a work kind has letters"),
        ('[logging]\nlevel = ""', "line 2, logging.level: must be one of"),
        ("[workers.cpu]\ntypes = []", "line 2, workers.cpu.types: must be a list of texts"),
        ("[workers.cpu]\nqueues = 'mail'", "line 2, workers.cpu.queues: must be a list of texts"),
        ('[workers.cpu]\nqueues = ["a\\tb"]', "line 2, workers.cpu.queues: the name of a queue has"),
        ("[workers.cpu]\ntypes = [1]", "line 2, workers.cpu.types: must be a list of texts"),
        ('[workers."a b"]\ntypes = ["x"]', "line 1, workers.a b: the name of a group has letters"),
        ("[workers.default]\ntypes = ['x']", "line 2, workers.default.types: the default group is"),
        ("[retry.a]\njitter = 2", "line 2, retry.a.jitter: must be a number from 0 to 1, not 2"),
        ("[retry.a]\nmultiplier = 0.5", "line 2, retry.a.multiplier: must be a number from 1"),
        ("[retry.a]\nmax_retries = -1", "line 2, retry.a.max_retries: must be a whole number from 0"),
        (
            "[retry.a]\nmax_retries = 1\nmax_attempts = 2",
            "line 2, retry.a.max_retries: give max_retries or",
        ),
        ("[retry.a]\nretries = 1", "line 2, retry.a.retries: unknown key; did you mean max_retries?"),
        (
            "[retry]\njitter = 0\n[retry.default]\njitter = 1",
            "line 3, retry.default: the default policy is given",
        ),
        ('[work_kinds.a]\nduration = "1s"', "line 2, work_kinds.a.duration: a duration is made of numbers"),
        ("[work_kinds.a]\nduration = -1", "line 2, work_kinds.a.duration: a duration lies between"),
        ("[work_kinds.a]\nduration = { uniform = [2, 1] }", "line 2, work_kinds.a.duration: a uniform duration goes"),
        ("[work_kinds.a]\nduration = { gamma = 1 }", "line 2, work_kinds.a.duration: is seconds, or one of fixed"),
        ("[work_kinds.a]\nduration = {}", "line 2, work_kinds.a.duration"),
        ('[work_kinds.a]\noutcome = "explode"', "line 2, work_kinds.a.outcome: must be one of success, fail, cancel"),
        ("[work_kinds.a]\nretryable = 1", "line 2, work_kinds.a.retryable: must be true or false, not 1"),
        ("[work_kinds]\na = 1", "line 2, work_kinds.a: unknown key"),
        ('[logging]\nlevel = "loud"', "line 2, logging.level: must be one of debug, info, warning, error"),
        ("[health]\nlisten = 'here'", "line 2, health.listen: 'here' is no address"),
        ("[wrokers]\nmax_count = 1", "line 1, wrokers: unknown key; did you mean workers?"),
        ("workers.max_count = 0", "line 1, workers.max_count"),
        ("workers = { max_count = 0 }", "line 1, workers.max_count"),
        ('app = """\n[workers]\nmax_count = 3"""\n[workers]\nmax_count = 0', "line 5, workers.max_count"),
        ('[workers.cpu]\ntypes = [\n  "a", # ] max_count = 1\n]\nmax_count = 0', "line 5, workers.cpu.max_count"),
        ("store = 'x'\nstore = 'y'\n", "line 2"),
    ],
)
def test_every_complaint_names_the_file_the_line_and_the_key(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint) as raised:
        read(tmp_path, text)

    assert str(tmp_path / "holdfast.toml") in str(raised.value)


def test_the_shards_of_a_store(tmp_path: Path) -> None:
    path = tmp_path / "holdfast.toml"
    path.write_text('[stores]\neu = "postgresql://app:${SECRET}@eu/jobs"\nus = "redis://us"\n')

    settings = read_settings(path, {"SECRET": "s3cret"})

    assert settings.store == "eu=postgresql://app:s3cret@eu/jobs us=redis://us"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('store = "sqlite:///jobs.db"\n[stores]\neu = "sqlite:///eu.db"\n', "excludes"),
        ('[stores]\n"e u" = "sqlite:///eu.db"\n', "no name of a shard"),
        ('[stores]\neu = "sqlite:///e u.db"\n', "contains a space"),
    ],
)
def test_impossible_shards_are_refused(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "holdfast.toml"
    path.write_text(text)

    with pytest.raises(ConfigError, match=complaint):
        read_settings(path, {})
