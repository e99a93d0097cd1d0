"""Tasks in a module that no worker imports."""

from holdfast import Limit
from holdfast.contrib.django import task


@task
def double(number):
    return 2 * number


@task(limits=[Limit("late", 1)])
def limited():
    return None
