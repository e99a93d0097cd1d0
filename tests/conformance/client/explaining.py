"""Explanations of a job, and live workers that claim nothing."""

from __future__ import annotations

import asyncio
from typing import Any

from holdfast import Explanation
from holdfast.core.worker_record import WorkerRecord
from holdfast.engine.operations import ReportWorker
from tests.conformance.client.harness import ClientHarness


async def explained(harness: ClientHarness, subject: Any) -> Explanation:
    explanation: Explanation | None = await harness.client.explain(subject)
    assert explanation is not None
    return explanation


async def kinds(harness: ClientHarness, subject: Any) -> list[str]:
    return [reason.kind for reason in (await explained(harness, subject)).reasons]


async def report_live(
    harness: ClientHarness, id: str = "one", *, types: tuple[str, ...] = ("value",), details: str = "{}"
) -> None:
    """Report a live worker that claims nothing."""
    await harness.store.perform(ReportWorker(WorkerRecord(id, "host", 1, types, 1, details=details)))


async def until_kind(harness: ClientHarness, subject: Any, kind: str) -> Explanation:
    while True:
        explanation = await explained(harness, subject)
        if explanation.reasons[0].kind == kind:
            return explanation
        await asyncio.sleep(0.01)
