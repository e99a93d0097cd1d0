"""Two versions of Holdfast as folders for PYTHONPATH: a release, and the working tree with one more migration.

The release is the newest wheel in the folder that HOLDFAST_RELEASES names. Without one, it is a wheel that is built
from the working tree, because 0.1.0 is the first release.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
NAME = "9000_of_the_test"

POSTGRES_MIGRATION = """
create table holdfast.lock_time (begun timestamptz, ended timestamptz, held boolean);
create function holdfast.write_the_end() returns trigger language plpgsql as $$ begin
    update holdfast.lock_time set ended = clock_timestamp(), held = exists (
        select from pg_locks where pid = pg_backend_pid() and granted
           and relation = 'holdfast.job'::regclass and mode = 'AccessExclusiveLock');
    return null;
end $$;
create constraint trigger at_commit after insert on holdfast.lock_time
    deferrable initially deferred for each row execute function holdfast.write_the_end();
lock table holdfast.job in access exclusive mode;
insert into holdfast.lock_time values (clock_timestamp());
alter table holdfast.job add column note text not null default 'none';
create index job_note on holdfast.job (type) where note <> 'none';
create table holdfast.note (id text primary key, body text);
"""
"""It writes the time at which it has the lock of the table, and, in a trigger at its commit, the time of the end."""

SQLITE_MIGRATION = """
create table holdfast_lock_time (moment real);
insert into holdfast_lock_time values (julianday('now'));
alter table holdfast_job add column note text not null default 'none';
create index holdfast_job_note on holdfast_job (type) where note <> 'none';
create table holdfast_note (id text primary key, body text);
insert into holdfast_lock_time values (julianday('now'));
"""
"""It writes the times of its first and of its last statement. It holds the write lock of the file in between."""

REDIS_CHANGES = {
    "create.lua": ("'i', job.input)", "'i', job.input, 'note', 'none')"),
    "single_start.lua": ("'i', ARGV[7])", "'i', ARGV[7], 'note', 'none')"),
}
"""An additive change on Redis: one more field of each job."""


def release(folder: Path) -> Path:
    """Unpack the wheel of the release."""
    wheel = _released() or _built(folder)
    with zipfile.ZipFile(wheel) as opened:
        opened.extractall(folder / "release")
    return folder / "release"


def next_version(folder: Path) -> Path:
    """Copy the working tree, and add the migration of the test."""
    package = folder / "next" / "holdfast"
    shutil.copytree(ROOT / "src" / "holdfast", package, ignore=shutil.ignore_patterns("__pycache__"))
    stores = package / "stores"
    (stores / "postgres" / "migrations" / f"{NAME}.sql").write_text(POSTGRES_MIGRATION)
    (stores / "sqlite" / "migrations" / f"{NAME}.sql").write_text(SQLITE_MIGRATION)
    for name, (old, new) in REDIS_CHANGES.items():
        script = stores / "redis" / "scripts" / "shared" / name
        text = script.read_text()
        assert old in text, f"{name} does not contain {old}"
        script.write_text(text.replace(old, new))
    return package.parent


def _released() -> Path | None:
    named = os.environ.get("HOLDFAST_RELEASES")
    return max(Path(named).glob("holdfast-*.whl"), default=None) if named else None


def _built(folder: Path) -> Path:
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    return next(folder.glob("holdfast-*.whl"))
