"""Jobs, chains and schedules in Django's admin: read-only rows, and actions for users with the permission."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, cast

from django.contrib import admin, messages
from django.http import HttpRequest
from django.utils.html import format_html

from holdfast.contrib.django.clients import client
from holdfast.contrib.django.configuration import configuration
from holdfast.contrib.django.models import Chain, Job, Schedule
from holdfast.engine.audit_user import acting_as
from holdfast.errors import HoldfastError

if TYPE_CHECKING:
    _ModelAdmin = admin.ModelAdmin[Any]
else:  # generic only for type checkers
    _ModelAdmin = admin.ModelAdmin

OPERATE_JOBS = "holdfast.operate_job"
DELETE_JOBS = "holdfast.delete_job"
OPERATE_SCHEDULES = "holdfast.operate_schedule"


class ReadOnlyAdmin(_ModelAdmin):
    """Shows rows. Nothing can be added, changed or deleted, except by an action."""

    show_full_result_count = False
    list_per_page = 50

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        # With STORE there are no tables to read: the dashboard shows the jobs then.
        return configuration().database is not None and super().has_view_permission(request, obj)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return configuration().database is not None and super().has_module_permission(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_operate_permission(self, request: HttpRequest) -> bool:
        """For actions with `permissions=["operate"]`."""
        return _may(request, OPERATE_JOBS)

    def has_remove_permission(self, request: HttpRequest) -> bool:
        """For actions with `permissions=["remove"]`."""
        return _may(request, DELETE_JOBS)

    def act(self, request: HttpRequest, rows: Iterable[Any], change: Callable[[Any], object], done: str) -> None:
        """Make a change to each row, as this user in the audit, and report what was refused."""
        changed, refused = 0, list[str]()
        with acting_as(request.user.get_username()):
            for row in rows:
                try:
                    change(row)
                    changed += 1
                except (HoldfastError, ValueError) as error:
                    refused.append(f"{row.pk}: {error}")
        if changed:
            self.message_user(request, f"{changed} {done}.", messages.SUCCESS)
        for text in refused[:10]:
            self.message_user(request, text, messages.WARNING)
        if len(refused) > 10:
            self.message_user(request, f"{len(refused) - 10} more were refused.", messages.WARNING)


class JobRows(ReadOnlyAdmin):
    """What the pages of jobs and chains share."""

    search_fields = ("id", "key", "chain_id")
    fields = (
        "id", "type", "status", "chain_id", "chain_index", "key", "priority", "attempt", "max_attempts", "worker",
        "progress", "created_at", "scheduled_at", "started_at", "finished_at", "shown_input", "shown_output",
        "shown_error",
    )  # fmt: skip
    readonly_fields = fields
    actions = ("retry", "cancel", "run_now", "remove")

    @admin.action(description="Retry", permissions=["operate"])
    def retry(self, request: HttpRequest, rows: Iterable[Job]) -> None:
        self.act(request, rows, lambda row: client().retry(self.job_of(row)), "retried")

    @admin.action(description="Cancel", permissions=["operate"])
    def cancel(self, request: HttpRequest, rows: Iterable[Job]) -> None:
        self.act(request, rows, lambda row: client().cancel(row.chain_id), "cancelled")

    @admin.action(description="Run now", permissions=["operate"])
    def run_now(self, request: HttpRequest, rows: Iterable[Job]) -> None:
        self.act(request, rows, lambda row: client().run_now(self.job_of(row)), "made due")

    @admin.action(description="Delete", permissions=["remove"])
    def remove(self, request: HttpRequest, rows: Iterable[Job]) -> None:
        self.act(request, rows, lambda row: client().delete([row.chain_id]), "deleted")

    def job_of(self, row: Job) -> str:
        """The id of the job to change."""
        return row.id

    @admin.display(description="input")
    def shown_input(self, row: Job) -> str:
        return _shown(row.input_json)

    @admin.display(description="output")
    def shown_output(self, row: Job) -> str:
        return "" if row.output is None else _shown(row.output_json)

    @admin.display(description="error")
    def shown_error(self, row: Job) -> str:
        return format_html("<pre>{}</pre>", row.failure.traceback or str(row.failure)) if row.failure else ""


@admin.register(Job)
class JobAdmin(JobRows):
    """The jobs."""

    list_display = ("id", "type", "status", "attempt", "key", "worker", "created_at", "scheduled_at", "finished_at")
    list_filter = ("status", "type")


@admin.register(Chain)
class ChainAdmin(JobRows):
    """The chains: their first jobs, with the status of the last one."""

    list_display = ("id", "type", "chain_state", "key", "created_at")
    list_filter = ("type",)

    @admin.display(description="status")
    def chain_state(self, row: Chain) -> str:
        return row.chain_status

    def job_of(self, row: Job) -> str:
        found = client().get(row.id)
        return row.id if found is None else found.job.id


@admin.register(Schedule)
class ScheduleAdmin(ReadOnlyAdmin):
    """The schedules."""

    list_display = ("name", "type", "ticks_at", "rule")
    list_filter = ("type",)
    search_fields = ("name",)
    fields = readonly_fields = ("name", "type", "ticks_at", "rule")
    actions = ("fire", "pause", "resume")

    def has_operate_permission(self, request: HttpRequest) -> bool:
        return _may(request, OPERATE_SCHEDULES)

    @admin.action(description="Fire", permissions=["operate"])
    def fire(self, request: HttpRequest, rows: Iterable[Schedule]) -> None:
        self.act(request, rows, lambda row: client().fire(row.name), "fired")

    @admin.action(description="Pause", permissions=["operate"])
    def pause(self, request: HttpRequest, rows: Iterable[Schedule]) -> None:
        self.act(request, rows, lambda row: client().pause_schedule(row.name), "paused")

    @admin.action(description="Resume", permissions=["operate"])
    def resume(self, request: HttpRequest, rows: Iterable[Schedule]) -> None:
        self.act(request, rows, lambda row: client().resume_schedule(row.name), "resumed")

    @admin.display(description="rule")
    def rule(self, row: Schedule) -> str:
        found = next((each for each in client().schedules() if each.name == row.name), None)
        if found is None:
            return ""
        timing = found.cron or f"every {found.every}"
        return f"{timing}, paused" if found.paused else timing


def _may(request: HttpRequest, permission: str) -> bool:
    user = cast("Any", request.user)
    return bool(user.has_perm(permission))


def _shown(value: Any) -> str:
    return format_html("<pre>{}</pre>", json.dumps(value, indent=2, ensure_ascii=False))
