"""Steps and messages on the page of a chain."""

import re

from holdfast import Client
from holdfast.core.record import Status
from holdfast.testing import drain
from tests.dashboard.conftest import Browser, Open
from tests.dashboard.shop import order


async def test_steps_are_shown_and_messages_are_sent(client: Client, browser: Browser, browse: Open) -> None:
    chain = await client.start(order.bind(total=2**60))
    await drain(client)

    page = await browser.text(f"/chains/{chain.id}")
    assert "charge" in page
    assert str(2**60) in page
    assert "secret-7" not in page
    assert 'value="approval"' in page
    assert re.search(
        r"<dt>Waits for</dt><dd>the message\s+<code>approval</code></dd></div>\s+<div><dt>Timeout</dt><dd>none<", page
    )
    assert "next attempt" not in page
    lists = [await browser.text(path) for path in ("/jobs", "/jobs?q=status:pending", "/chains?q=status:scheduled")]
    assert [("waits for a message" in each) for each in lists] == [False, True, True]
    assert not [each for each in (page, *lists) if "9999" in each]
    assert 'value="approval"' not in await browse("read").text(f"/chains/{chain.id}")
    await browser.post("/change/send", id=chain.id, name="approval", value="not json")
    await browser.post("/change/send", id=chain.id, name="approval", value='"no"', next=f"/chains/{chain.id}")
    await browser.post("/change/send", id=chain.id, name="approval", value='"yes"')
    await drain(client)

    failed = await client.get(chain)
    assert failed is not None
    assert failed.status is Status.FAILED
    assert [(entry.action, entry.user, entry.reason) for entry in await client.audit(chain)] == [
        ("send", "ada", "approval")
    ]
    page = await browser.text(f"/chains/{chain.id}")
    assert "/change/retry-from-step" in page
    await browser.post("/change/retry-from-step", id=chain.id, step="unknown")
    await browser.post("/change/retry-from-step", id=chain.id, step="approval")
    await browser.post("/change/send", id=chain.id, name="approval", value='"yes"')
    await drain(client)
    completed = await client.get(chain)
    assert completed is not None
    assert completed.output == "yes"


async def test_a_message_needs_all_types_of_the_chain(client: Client, browse: Open) -> None:
    chain = await client.start(order.bind(total=1))
    await drain(client)

    await browse("operate", types=["add"]).post("/change/send", id=chain.id, name="approval", value='"yes"')

    waiting = await client.get(chain)
    assert waiting is not None
    assert waiting.status is Status.PENDING
    assert await client.audit(chain) == []
