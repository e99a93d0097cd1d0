"""Bulk actions for one viewer: which chains a query chooses, and which actions the viewer may see."""

from __future__ import annotations

from holdfast.bulk import BulkAction, bulk_action, bulk_actions
from holdfast.client.references import listing_filter
from holdfast.dashboard.query import parse
from holdfast.dashboard.view import View
from holdfast.dashboard.viewer import ListFilters, is_id
from holdfast.engine.operations import Filter


def chosen(view: View, text: str) -> Filter | None:
    """The chains that a query chooses, of types that the viewer may change; None if there can be none.

    ValueError for a query that cannot be used.
    """
    query = parse(text, view.access)
    if query.problems:
        raise ValueError(" ".join(query.problems))
    if query.chain is not None:
        raise ValueError("chain: is not possible in a bulk action. Use the actions on the page of the chain.")
    allowed = view.access.allowed_types
    if allowed is None:
        return listing_filter(**query.filters)
    wanted = query.filters.get("type")
    types = sorted(allowed.intersection(wanted) if wanted else allowed)
    if not types:
        return None
    filters: ListFilters = {**query.filters, "type": types}
    return listing_filter(**filters, chain_type=sorted(allowed))


async def visible_actions(view: View) -> list[BulkAction]:
    """The newest bulk actions; for viewers of some types their own, because queries and ids may name others."""
    found = await view.viewer.read(bulk_actions(view.settings.bulk.client))
    return [action for action in found if _sees(view, action)]


async def visible_action(view: View, id: str) -> BulkAction | None:
    """The bulk action with this id, if the viewer may see it."""
    if not is_id(id):
        return None
    action = await view.viewer.read(bulk_action(view.settings.bulk.client, id))
    return action if action is not None and _sees(view, action) else None


def _sees(view: View, action: BulkAction) -> bool:
    return view.access.allowed_types is None or (view.access.user != "" and action.user == view.access.user)
