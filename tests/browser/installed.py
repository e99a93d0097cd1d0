"""The browser of the tests: Debian's chromium, or the one that HOLDFAST_BROWSER names."""

from __future__ import annotations

import os
import shutil
from importlib.util import find_spec


def _find() -> str | None:
    if find_spec("playwright") is None:
        return None
    named = os.environ.get("HOLDFAST_BROWSER")
    return shutil.which(named) if named else next(filter(None, map(shutil.which, ("chromium", "google-chrome"))), None)


BROWSER = _find()
"""Its path; None if there is none."""
