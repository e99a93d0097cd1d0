"""Tools for tests of applications and of stores."""

from holdfast.testing.clock import ManualClock
from holdfast.testing.drain import drain, drain_sync

__all__ = ["ManualClock", "drain", "drain_sync"]
