"""The choice of the driver for a connection of the application."""

from __future__ import annotations

import sys

import pytest

from holdfast.stores.postgres.connection.app_drivers import blocking_driver


def test_the_error_for_an_alias_without_django_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "django", None)

    with pytest.raises(TypeError, match="Django is not installed"):
        blocking_driver("default")
