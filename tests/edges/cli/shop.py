"""An application for the command line to work with."""

from __future__ import annotations

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
    """Waits for somebody."""
    raise NotImplementedError


@jobs.job(keep=0)
async def forget() -> None: ...


@jobs.job
async def login(user: str, password: str, options: dict[str, str]) -> str:
    return user
