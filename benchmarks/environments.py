"""A virtual environment for each peer, without conflicts of dependencies: ``python -m benchmarks.environments``."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import venv
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.contender import Contender
from benchmarks.contenders import peers

FOLDER = Path(__file__).parents[1] / ".venv-peers"


def interpreter(contender: type[Contender]) -> str:
    """The Python that runs a contender: its own environment's, or ours."""
    return str(_folder(contender) / "bin" / "python") if contender.requirements else sys.executable


def installed(contender: type[Contender]) -> bool:
    """Whether its environment exists with the current requirements."""
    return not contender.requirements or _stamp(contender).get("requirements") == " ".join(contender.requirements)


def trouble(contender: type[Contender]) -> str | None:
    """Why it cannot be run; None if it can."""
    if installed(contender):
        return None
    return _stamp(contender).get("trouble", "not installed: python -m benchmarks.environments")


def install(contender: type[Contender]) -> str | None:
    """Create its environment, unless it exists. Returns the error, and writes it to a file beside it."""
    if installed(contender):
        return None
    folder = _folder(contender)
    venv.create(folder, with_pip=True, clear=True)
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "-qq", "--no-input", "--disable-pip-version-check"]
    done = subprocess.run([*pip, *contender.requirements], capture_output=True, text=True, check=False)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or ["pip failed"]
        stamp = {"trouble": f"cannot be installed: {lines[-1].removeprefix('ERROR: ')}"[:300]}
    else:
        stamp = {"requirements": " ".join(contender.requirements)}
    (folder / "stamp.json").write_text(json.dumps(stamp))
    return stamp.get("trouble")


def versions(contender: type[Contender]) -> dict[str, str]:
    """The installed versions of its packages, read by its own interpreter."""
    if not contender.distributions:
        return {}
    program = (
        "import importlib.metadata as m, json, sys\n"
        "found = {}\n"
        "for name in sys.argv[1:]:\n"
        "    try: found[name] = m.version(name)\n"
        "    except m.PackageNotFoundError: pass\n"
        "print(json.dumps(found))"
    )
    command = [interpreter(contender), "-c", program, *contender.distributions]
    answer: dict[str, str] = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    return answer


def _folder(contender: type[Contender]) -> Path:
    # A peer that is measured in two ways is installed once.
    peer = next(each for each in contender.__mro__ if Contender in each.__bases__)
    return FOLDER / peer.__name__.lower()


def _stamp(contender: type[Contender]) -> dict[str, str]:
    file = _folder(contender) / "stamp.json"
    return json.loads(file.read_text()) if file.exists() else {}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.environments", description=__doc__)
    parser.add_argument("names", nargs="*", help="peers; all of them by default")
    names = set(parser.parse_args().names)
    wanted = list({_folder(each): each for each in peers() if not names or each.name in names}.values())
    with ThreadPoolExecutor(2) as pool:
        for contender, reason in zip(wanted, pool.map(install, wanted), strict=True):
            print(f"{contender.name}: {reason or 'ready'}", flush=True)


if __name__ == "__main__":
    main()
