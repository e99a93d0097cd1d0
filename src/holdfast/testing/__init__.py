"""What a test of an application, or of a store, needs."""

from holdfast.testing.clock import ManualClock
from holdfast.testing.drain import drain, drain_sync

__all__ = ["ManualClock", "drain", "drain_sync"]
