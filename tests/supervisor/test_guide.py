"""The queries in the guide return the numbers that the supervisor uses."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from holdfast import Client
from tests.servers.postgres import shared_postgres
from tests.servers.postgres_schemas import fresh_address
from tests.supervisor.work import hold, jobs, note, where

GUIDE = Path(__file__).parents[2] / "docs" / "supervisor.md"


async def test_the_query_for_keda_counts_what_is_due_of_its_types_and_not_what_is_scheduled_or_paused() -> None:
    (query,) = re.findall(r"query: >-\n(.*?)\n +targetQueryValue", GUIDE.read_text(), re.DOTALL)
    address = fresh_address()
    (schema,) = parse_qs(urlsplit(address).query)["schema"]
    async with Client(address, jobs) as client:
        await client.start_many([note.bind(1), note.bind(2), note.bind(3).options(delay=60), where.bind()])
        await client.start(hold.bind("a", "b"))
        await client.pause("where")

    with shared_postgres().connect() as connection:
        query = query.replace("holdfast.", f"{schema}.").replace("('charge', 'ship')", "('note', 'where')")
        counted = connection.execute(query.encode()).fetchone()

    assert counted == (2,)
