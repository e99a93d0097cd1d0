"""Bulk actions: one action on many chains, as a chain of its own with progress, cancellation and a report.

`members` counts the chains that a filter matches and fixes them, `batches` changes some of them, `jobs` declares the
chain, `runner` runs such chains in the process of a dashboard.
"""

from holdfast.bulk.actions import ACTIONS, Action
from holdfast.bulk.jobs import bulk_jobs
from holdfast.bulk.members import MOST, FilterTooBroad, Preview, preview
from holdfast.bulk.overview import BulkAction, bulk_action, bulk_actions
from holdfast.bulk.records import BulkReport, Skip
from holdfast.bulk.runner import BulkRunner
from holdfast.bulk.start import NothingToDo, start

__all__ = [
    "ACTIONS",
    "MOST",
    "Action",
    "BulkAction",
    "BulkReport",
    "BulkRunner",
    "FilterTooBroad",
    "NothingToDo",
    "Preview",
    "Skip",
    "bulk_action",
    "bulk_actions",
    "bulk_jobs",
    "preview",
    "start",
]
