"""An AI agent in a loop: answers of the model and calls of tools are steps, and a crash repeats none of them."""

import asyncio
import tempfile
from collections import Counter
from typing import TypedDict

from holdfast import Attempt, Client, Jobs, Retry, Worker

jobs = Jobs()
calls: Counter[str] = Counter()
crashes = {2}
"""Turns after which the process ends once."""


class Message(TypedDict):
    role: str
    text: str


class Reply(TypedDict):
    tool: str | None
    text: str


async def ask_model(messages: list[Message]) -> Reply:
    """A request to a language model. This one wants two tools, and then answers."""
    calls["model"] += 1
    wanted = ("weather", "calendar")
    used = [message["text"] for message in messages if message["role"] == "tool"]
    if len(used) < len(wanted):
        return {"tool": wanted[len(used)], "text": ""}
    return {"tool": None, "text": f"Take an umbrella: {'; '.join(used)}"}


async def use_tool(name: str) -> str:
    calls[name] += 1
    return {"weather": "rain from noon", "calendar": "lunch outside at 12"}[name]


@jobs.job(retry=Retry(initial=0.05, jitter=0))
async def assist(attempt: Attempt, question: str) -> str:
    messages: list[Message] = [{"role": "user", "text": question}]
    for turn in range(10):
        reply = await attempt.step("model", ask_model, messages, each=turn)
        if reply["tool"] is None:
            return reply["text"]
        result = await attempt.step("tool", use_tool, reply["tool"], each=turn)
        messages.append({"role": "tool", "text": result})
        if turn + 1 in crashes:
            crashes.clear()
            raise ConnectionError("the process ended in the middle of the conversation")
    raise RuntimeError("the agent found no answer")


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with Client(f"sqlite:///{folder}/jobs.db", jobs) as client, Worker(client):
            chain = await client.start(assist.bind(question="What do I need today?"))
            print(await client.wait(chain, timeout=10))
            found = await client.report(chain.id)
            print("attempts:", len(found.attempts) if found else 0)
            print("calls:", dict(calls))


if __name__ == "__main__":
    asyncio.run(main())
