"""Tools for tests of applications and of stores."""

from holdfast.testing.clock import ManualClock
from holdfast.testing.drain import drain, drain_sync
from holdfast.testing.unit_attempt import SyncUnitAttempt, UnitAttempt, sync_unit_attempt, unit_attempt

__all__ = ["ManualClock", "SyncUnitAttempt", "UnitAttempt", "drain", "drain_sync", "sync_unit_attempt", "unit_attempt"]
