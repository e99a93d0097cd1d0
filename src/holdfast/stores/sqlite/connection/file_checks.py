"""Check the path of a store's file, and create the file before SQLite opens it."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

NETWORK = ("nfs", "cifs", "smb", "afs", "ceph", "lustre", "gpfs", "beegfs", "gluster", "ncpfs", "coda", "davfs")
"""File systems whose locks do not work reliably between machines. The first part of their names."""

_MOUNTS = Path("/proc/self/mountinfo")


def prepare(path: Path) -> Path:
    """Check a path, and create the file, private to its owner, if it is missing. Returns the absolute path.

    ValueError: the path cannot be a store's file. FileNotFoundError: its directory does not exist.
    PermissionError: this process may not read the file, or not create it.
    Any number of processes may do this at once.
    """
    directory = Path(os.path.abspath(path)).parent.resolve(strict=True)  # noqa: PTH100 - keeps a final link as it is
    file = directory / path.name
    if file.is_symlink():
        raise ValueError(f"{path} is a symbolic link; give the file it leads to")
    if (kind := network_file_system(directory)) is not None:
        raise ValueError(
            f"{path} is on a network file system ({kind}), where SQLite's locks do not hold; "
            "use a local disk, or PostgreSQL"
        )
    if not file.exists():
        _create(file)
    if not stat.S_ISREG(file.stat().st_mode):
        raise ValueError(f"{path} is not a regular file")
    if not os.access(file, os.R_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(file))
    return file


def network_file_system(directory: Path, mounts: Path = _MOUNTS) -> str | None:
    """The type of the network file system of a directory; None if it is local or unknown."""
    try:
        lines = mounts.read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return None
    best, kind = "", ""
    for line in lines:
        before, _, after = line.partition(" - ")
        mount = before.split(" ")[4].encode("latin-1", "replace").decode("unicode_escape")
        inside = str(directory) == mount or str(directory).startswith(mount.rstrip("/") + "/")
        # Of two mounts on the same directory, the later one is visible.
        if inside and len(mount) >= len(best):
            best, kind = mount, after.split(" ")[0]
    remote = kind.removeprefix("fuse.")
    is_remote = remote.startswith(NETWORK) or (
        kind.startswith("fuse.") and remote.startswith(("ssh", "s3", "rclone", "gcs", "goofys"))
    )
    return kind if is_remote else None


def _create(file: Path) -> None:
    # Create it under another name first. Closing a descriptor of the final file would release the POSIX locks of
    # SQLite, if this process has the file open.
    other = file.with_name(f".{file.name}.{secrets.token_hex(8)}")
    os.close(os.open(other, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0), 0o600))
    try:
        with suppress(FileExistsError):
            os.link(other, file)
    finally:
        other.unlink()


def identity(path: str | os.PathLike[str]) -> tuple[int, int] | None:
    """Device and inode, which identify a file; None if it does not exist."""
    try:
        found = os.stat(path)  # noqa: PTH116 - a third of the time that Path.stat takes, before every write
    except OSError:
        return None
    return found.st_dev, found.st_ino
