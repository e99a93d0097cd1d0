"""The names of the job types of bulk actions."""

from __future__ import annotations

from typing import Final

BULK: Final = "holdfast:bulk"
"""The first job of a bulk action. Its input contains the members."""
BATCH: Final = "holdfast:bulk-batch"
"""A later job of a bulk action."""
BULK_TYPES: Final = frozenset({BULK, BATCH})
