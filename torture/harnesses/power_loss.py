"""Simulates a power failure: data that the server wrote without fsync is lost.

Killing a process loses nothing that the kernel already has. A preloaded library records the size of each file at each
fsync and fdatasync; after the kill every file is truncated to that size. Needs a C compiler.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

_SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static void note(int file, long long flushed) {
  char link[64], path[4096], line[4300];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path - 1);
  const char *log = getenv("HOLDFAST_FLUSHED");
  if (length < 0 || !log) return;
  path[length] = 0;
  int to = open(log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  if (to < 0) return;
  int size = snprintf(line, sizeof line, "%lld %s\n", flushed, path);
  if (write(to, line, size) < 0) { /* ignore: no way to report it here */ }
  close(to);
}

static int flush(const char *name, int file) {
  struct stat before;
  int known = !fstat(file, &before);
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
  int answer = real(file);
  /* Bytes written during the flush may not be flushed: use the size before. */
  if (!answer && known) note(file, (long long)before.st_size);
  return answer;
}

int fsync(int file) { return flush("fsync", file); }
int fdatasync(int file) { return flush("fdatasync", file); }
"""


def shim(folder: Path) -> Path | None:
    """Compile the library to preload; None without a compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return None
    source, library = folder / "flushed.c", folder / "flushed.so"
    source.write_text(_SHIM)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"], check=True)
    return library


def environment(library: Path, log: Path) -> dict[str, str]:
    """The environment variables that preload the library into the server."""
    return {"LD_PRELOAD": str(library), "HOLDFAST_FLUSHED": str(log)}


def lose_unflushed(log: Path, files: list[Path]) -> int:
    """Truncate files to their flushed sizes; returns how many bytes were lost."""
    flushed: dict[str, int] = {}
    for line in log.read_text().splitlines() if log.exists() else ():
        size, _, path = line.partition(" ")
        flushed[path] = int(size)
    lost = 0
    for file in files:
        kept = min(flushed.get(str(file), 0), file.stat().st_size)
        lost += file.stat().st_size - kept
        with file.open("rb+") as handle:
            handle.truncate(kept)
    return lost
