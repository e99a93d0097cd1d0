"""The jobs of the test project."""

import time
from pathlib import Path

from django.db import IntegrityError, connection, transaction

from holdfast import Attempt, Jobs, Retry, SyncAttempt
from shop.models import Note, Order

jobs = Jobs()
QUICK = Retry(initial=0.01, maximum=0.01, jitter=0, max_attempts=3)


@jobs.job(retry=QUICK)
def pay(attempt: SyncAttempt, order: int, fail_after: bool = False) -> str:
    with attempt.prepare():
        assert connection.in_atomic_block
        assert Order.objects.get(pk=order).state == "new"
    assert not connection.in_atomic_block or attempt.job.worker is None or _in_test()
    with attempt.complete() as done:
        Order.objects.filter(pk=order).update(state="paid")
        try:
            with transaction.atomic():  # a savepoint
                Note.objects.create(text=f"paid {order}")
                Note.objects.create(text=f"paid {order}")
        except IntegrityError:
            Note.objects.create(text=f"paid once {order}")
        done.start(remember.bind(text=f"receipt {order}"))
        result = done.output("paid")
    if fail_after and attempt.job.attempt == 1:
        raise RuntimeError("after complete(): everything is rolled back")
    return result


def _in_test() -> bool:
    from holdfast.contrib.django.plugin import in_test

    return in_test.get()


@jobs.job(retry=QUICK)
def remember(text: str) -> int:
    transaction.on_commit(lambda: Note.objects.create(text=f"{text} committed"))
    return Note.objects.create(text=text).pk


@jobs.job(retry=QUICK)
async def remember_async(text: str) -> int:
    note = await Note.objects.acreate(text=text)
    return note.pk


@jobs.job(retry=Retry(max_attempts=1))
async def pay_async(attempt: Attempt, order: int) -> str:
    assert await Order.objects.acount() >= 0
    async with attempt.complete() as done:
        await Order.objects.filter(pk=order).aupdate(state="paid")
        return done.output("paid")


@jobs.job(retry=Retry(max_attempts=1))
async def pay_async_with_sql(attempt: Attempt, order: int) -> str:
    async with attempt.complete() as done:
        placeholder = "%s" if connection.vendor == "postgresql" else "?"
        await done.tx.execute(f"update shop_order set state = 'paid' where id = {placeholder}", [order])
        return done.output("paid")


@jobs.job(retry=QUICK)
def fulfil(attempt: SyncAttempt, order: int) -> list[str]:
    def reserve(tx: object, state: str) -> str:
        Order.objects.filter(pk=order).update(state=state)
        if state == "lost" and attempt.job.attempt == 1:
            raise LookupError("the step is rolled back")
        return state

    done = [attempt.tx_step("reserve", reserve, "reserved")]
    assert Order.objects.get(pk=order).state == "reserved"
    return [*done, attempt.tx_step("lose", reserve, "lost")]


@jobs.job(retry=Retry(max_attempts=1))
async def fulfil_async(attempt: Attempt, order: int) -> str:
    async def reserve(tx: object) -> str:
        await Order.objects.filter(pk=order).aupdate(state="reserved")
        return "reserved"

    return await attempt.tx_step("reserve", reserve)


@jobs.job(executor="process", retry=Retry(max_attempts=1))
def count_in_process(more: int) -> int:
    return Order.objects.count() + more


@jobs.job(retry=QUICK)
def wait_for_file(path: str) -> str:
    """Use the connection, then wait until the test has restarted the server."""
    count = Note.objects.count()
    Path(f"{path}.begun").touch()
    while not Path(path).exists():
        time.sleep(0.01)
    return f"{count} {Note.objects.count()}"
