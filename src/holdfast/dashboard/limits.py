"""The limits that a viewer may see."""

from __future__ import annotations

from holdfast.dashboard.view import View
from holdfast.engine.operations import LimitReport


async def visible_limits(view: View) -> list[LimitReport]:
    """Limits, rates and orders for which the viewer may see all types that use them.

    The keys of lanes are parts of inputs. The store does not know which types use a limit; the registry of the
    dashboard does. Viewers of some types see no limit that this registry does not contain.
    """
    client = view.settings.client
    found = await view.viewer.read(view.settings.shared.limits.get())
    if view.access.allowed_types is None:
        return found
    users: dict[str, list[str]] = {}
    for job_type in client.jobs:
        for limit in job_type.limits:
            users.setdefault(limit.name, []).append(job_type.name)
    return [limit for limit in found if limit.name in users and view.access.sees(*users[limit.name])]
