"""Runs the tests of Django without the excluded ones. An exclusion that names no test is an error."""

import sys
import unittest
from importlib.util import find_spec
from typing import Any

from django.test.runner import DiscoverRunner
from exclusions import EXCLUDED, EXCLUDED_WITH_PACKAGE


class Runner(DiscoverRunner):
    """Skips the excluded tests, and reports the reasons."""

    def build_suite(self, *args: Any, **options: Any) -> unittest.TestSuite:
        excluded = {**EXCLUDED, **({} if find_spec("django.tasks") else EXCLUDED_WITH_PACKAGE)}
        kept = unittest.TestSuite()
        for test in _tests(super().build_suite(*args, **options)):
            reason = excluded.pop(test.id().removeprefix("tasks."), None)
            if reason is None:
                kept.addTest(test)
            else:
                sys.stdout.write(f"excluded: {test.id()}: {reason}\n")
        if excluded:
            raise ValueError(f"these exclusions name no test: {', '.join(sorted(excluded))}")
        return kept


def _tests(suite: Any) -> Any:
    for each in suite:
        if isinstance(each, unittest.TestSuite):
            yield from _tests(each)
        else:
            yield each
