"""The tasks of the test project."""

from holdfast import Limit, Retry
from holdfast.contrib.django import task
from shop.models import Note

CALLS = []


@task
def add(a, b=1):
    CALLS.append((a, b))
    return a + b


@task
async def add_async(a, b=1):
    return a + b


@task(takes_context=True, retry=Retry(initial=0.01, maximum=0.01, jitter=0, max_attempts=3))
def flaky(context, succeed_at):
    if context.attempt < succeed_at:
        raise LookupError(f"attempt {context.attempt}")
    return [context.attempt, context.task_result.id]


@task(limits=[Limit("per-customer", 1, by="customer")], key=lambda customer, number: f"{customer}-{number}")
def bill(customer, number):
    return f"{customer} {number}"


@task(every=3600)
def report():
    return "reported"


@task
def note(text):
    return Note.objects.create(text=text).pk
