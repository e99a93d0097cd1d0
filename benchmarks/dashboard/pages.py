"""The pages that are measured."""

from __future__ import annotations

from urllib.parse import quote

from benchmarks.dashboard.present import Present
from benchmarks.dashboard.shop import TYPES
from holdfast import Client

QUERIES = (
    "",
    "status:running",
    "status:pending",
    "status:scheduled",
    "status:blocked",
    "status:failed",
    "status:cancelled",
    "status:completed",
    f"type:{TYPES[0]}",
    f"type:{TYPES[-1]}",
    "type:unknown",
    f"type:{TYPES[0]} status:failed",
    f"type:{TYPES[0]} status:pending",
    "error:host-7",
    "error:unknown",
    "key:order-500",
    "key:unknown",
    "age:>30d",
    "age:<1h",
    "worker:worker-3",
)


async def pages(client: Client, present: Present) -> dict[str, str]:
    """The name and the path of each page."""
    failed = (await client.list_jobs(status="failed", limit=1)).items[0]
    group = (await client.errors(limit=1))[0]
    return {
        "Overview": "/",
        "Overview, last day": "/?period=day",
        **{f"Jobs {query}".rstrip(): f"/jobs?q={quote(query)}" for query in QUERIES},
        **{f"Chains {query}".rstrip(): f"/chains?q={quote(query)}" for query in QUERIES},
        "Jobs of an error group": f"/jobs?q=status:failed+group:{group.fingerprint}",
        "Jobs of a viewer of two types": "/some/jobs",
        "Overview of a viewer of two types": "/some/",
        "Errors, last hour": "/errors?period=hour",
        "Errors, last day": "/errors?period=day",
        "Limits, 1,000 lanes": "/limits",
        "Schedules": "/schedules",
        "One schedule": "/schedules/one?name=schedule-7",
        "Workers": "/workers",
        "Queues": "/queues",
        "One queue": "/queues/one?name=thumbnails",
        "One queue, failing": "/queues/one?name=thumbnails&state=failing",
        "Failed chain": f"/chains/{failed.chain_id}",
        "Due chain": f"/chains/{present.due}",
        "Chain with 300 blockers": f"/chains/{present.blocked}",
        "Chain that started 300": f"/chains/{present.started}",
        "Chain of 300 jobs": f"/chains/{present.long}",
        "Chain that waits for a limit": f"/chains/{present.laned}",
        "Search by id": f"/search?q={failed.id}",
        "Search by key": "/search?q=order-500",
        "Search by text": "/search?q=did+not+answer",
        "Search, nothing found": "/search?q=nothing+like+this",
        "Bulk actions": "/bulk",
        "Retry all failed, before confirmation": "/bulk/new?action=retry&q=status:failed",
        "Retry a group, before confirmation": f"/bulk/new?action=retry&q=status:failed+group:{group.fingerprint}",
        "Cancel a type, before confirmation": f"/bulk/new?action=cancel&q=type:{TYPES[0]}",
    }
