"""An application for the command line to work with."""

from __future__ import annotations

from typing import Any

from holdfast import Attempt, Bound, Fail, Jobs, Retry

jobs = Jobs()


@jobs.job
async def add(a: int, b: int = 2) -> int:
    return a + b


@jobs.job
async def twice(a: int) -> int | Bound[int]:
    return add.bind(a=a, b=a)


@jobs.job
async def total(attempt: Attempt) -> int:
    result: int = sum(attempt.blockers)
    return result


@jobs.job(blockers=(add, twice))
async def compare(attempt: Attempt[Any, tuple[int, int]]) -> bool:
    first, second = attempt.blockers
    return first == second


@jobs.job(retry=Retry(initial=0.01, max_attempts=2))
def burst(reason: str = "no luck") -> None:
    raise RuntimeError(reason)


@jobs.job
async def refuse(reason: str) -> None:
    raise Fail(reason)


@jobs.job
async def rest() -> None: ...


@jobs.declare
async def approve(order: int) -> int:
    """Waits for a completion from outside."""
    raise NotImplementedError


@jobs.job(keep=0)
async def forget() -> None: ...


@jobs.job
async def login(user: str, password: str, options: dict[str, str]) -> str:
    return user


@jobs.job(retry=Retry(initial=0, max_attempts=1))
async def ship(attempt: Attempt, order: int) -> str:
    """Steps: it charges, waits for a label, and fails if the label is empty."""
    await attempt.step("charge", _charge, order, each=order)
    label = await attempt.receive("label", str)
    if not label:
        raise ValueError("an empty label")
    return label


@jobs.job
async def sign(attempt: Attempt) -> str:
    return await attempt.receive("signature", str, timeout=3600)


def _charge(order: int) -> dict[str, Any]:
    return {"payment": order, "password": "open sesame"}
