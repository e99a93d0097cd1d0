"""Build the wheel and the source distribution, and check them: `python -m tools.dist`.

The files are built twice and must be identical. The wheel is then installed in a clean environment, where the README's
quickstart runs.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

DIST = Path("dist")
METADATA = "Metadata-Version: 2.4"
"""The newest version that the pinned action of the release workflow accepts."""


def main() -> int:
    environment = {**os.environ, "SOURCE_DATE_EPOCH": _commit_time()}
    with tempfile.TemporaryDirectory() as folder:
        for target in (DIST, Path(folder)):
            for old in target.glob("holdfast-*"):
                old.unlink()
            build = [sys.executable, "-m", "build", "--outdir", str(target), "."]
            subprocess.run(build, check=True, env=environment, stdout=subprocess.DEVNULL)
        first, second = _checksums(DIST), _checksums(Path(folder))
        if first != second:
            print(f"two builds differ: {first} and {second}", file=sys.stderr)
            return 1
        for name, digest in first.items():
            print(f"{digest}  {name}")
        wheel = next(DIST.glob("*.whl"))
        _check_contents(wheel)
        return _run_readme(wheel, Path(folder))


def _commit_time() -> str:
    answer = subprocess.run(["git", "log", "-1", "--format=%ct"], capture_output=True, text=True, check=False)
    return answer.stdout.strip() or "1767225600"


def _checksums(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.glob("holdfast-*"))}


def _check_contents(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    names = archive.namelist()
    for wanted in ("holdfast/py.typed", ".dist-info/sboms/sbom.cdx.json", ".dist-info/licenses/LICENSE"):
        if not any(name.endswith(wanted) for name in names):
            raise SystemExit(f"{wheel.name} lacks {wanted}")
    (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
    if METADATA not in archive.read(metadata).decode().splitlines():
        raise SystemExit(f"{wheel.name} has metadata of another version than {METADATA}")


def _run_readme(wheel: Path, folder: Path) -> int:
    clean = folder / "clean"
    venv.create(clean, with_pip=True)
    install = [str(clean / "bin" / "python"), "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
    subprocess.run([*install, "--root-user-action=ignore", str(wheel)], check=True)
    test = [sys.executable, "-m", "pytest", "-q", "tests/project/test_readme.py", "-k", "as_it_stands"]
    return subprocess.run(test, env={**os.environ, "HOLDFAST_BIN": str(clean / "bin")}, check=False).returncode


if __name__ == "__main__":
    raise SystemExit(main())
