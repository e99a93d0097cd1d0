"""The supervisor as process 1 of a container, from its start."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

AS_PROCESS_ONE = "import os; os.getpid = lambda: 1; from holdfast.cli import main; main()"

SLOW_APP = """
import time
from holdfast import Jobs

jobs = Jobs()
print("loading", flush=True)
time.sleep(60)
"""


def test_sigterm_ends_it_while_the_application_is_still_loading(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(SLOW_APP)
    command = [sys.executable, "-c", AS_PROCESS_ONE, "supervise", "slow:jobs", "--store", f"sqlite:///{tmp_path}/j.db"]

    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "loading\n"
        process.terminate()

        assert process.wait(60) == 143
