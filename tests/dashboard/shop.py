"""An application for the dashboard to show."""

from __future__ import annotations

from holdfast import Attempt, Bound, Fail, Failure, Jobs, Order, Retry

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
async def refund(failure: Failure) -> str:
    return failure.error


@jobs.job(on_failure=refund, retry=Retry(max_attempts=1))
async def fan_out(attempt: Attempt, count: int) -> int:
    """Starts this many chains; fails if there are none."""
    if not count:
        raise Fail("nothing to do")
    async with attempt.complete() as done:
        for each in range(count):
            await done.start(add.bind(a=each))
        return done.output(count)


@jobs.job
async def refuse(reason: str) -> None:
    raise Fail(reason)


@jobs.job(limits=[Order("account", by="account")])
async def entry(account: str, amount: int) -> int:
    if not amount:
        raise Fail("frozen")
    return amount


@jobs.declare
async def approve(order: int) -> int:
    """Waits for a completion from outside."""
    raise NotImplementedError


@jobs.job
async def login(user: str, password: str) -> str:
    return user


@jobs.job
async def order(attempt: Attempt, total: int) -> str:
    await attempt.step("charge", charged, total)
    answer = await attempt.receive("approval", str)
    if answer == "no":
        raise Fail("not approved")
    return answer


async def charged(total: int) -> dict[str, int | str]:
    return {"total": total, "receipt_token": "secret-7"}
