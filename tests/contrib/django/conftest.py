"""Leaves out the files whose tests need a download, or minutes, unless `make django` runs."""

from __future__ import annotations

from tests.contrib.django.selection import EVERYTHING

collect_ignore = [] if EVERYTHING else ["test_upstream.py", "test_long_running.py"]
