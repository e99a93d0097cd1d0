"""Run the failed tests of the last run once more, one after the other: ``python -m tools.retest``.

CI uses this on machines that run other programs too. A test that passes now has failed by chance. Its name is printed:
it is a defect of the test or of the code, and must be fixed. A test that fails again fails the build, and so do more
than a few failures, or a run that recorded none.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

FAILURES = Path(".pytest_cache/v/cache/lastfailed")
MOST = 5


def main() -> int:
    failed = sorted(json.loads(FAILURES.read_text())) if FAILURES.exists() else []
    if not failed:
        print("No failed test was recorded: the run ended before the tests, see above.")
        return 1
    if len(failed) > MOST:
        print(f"{len(failed)} tests failed: too many to be chance.")
        return 1
    print("These tests failed and run once more:", *failed, sep="\n  ", flush=True)
    code = subprocess.run([sys.executable, "-m", "pytest", *failed], check=False).returncode
    if code == 0:
        print("They failed by chance: each is a defect to fix.", *failed, sep="\n  ")
    return code


if __name__ == "__main__":
    raise SystemExit(main())
