"""HoldfastBackend with what the tests of Django expect of its two backends."""

from typing import Any

from django.core.management import call_command

from holdfast.contrib.django import HoldfastBackend, client
from holdfast.contrib.django.testing import drain


class DummyBackend(HoldfastBackend):
    """Tasks are enqueued and not run. The tests read and clear the results."""

    @property
    def results(self) -> list[Any]:
        """The results in the store, oldest first."""
        items = client().list_chains(limit=1000).items
        return [self.get_result(chain.id) for chain in reversed(items)]

    def clear(self) -> None:
        """Remove all results."""
        call_command("flush", verbosity=0, interactive=False)


class ImmediateBackend(HoldfastBackend):
    """Tasks are run before `enqueue` returns: a worker runs them, on the connection of the test."""

    def enqueue(self, task: Any, args: Any, kwargs: Any) -> Any:
        result = super().enqueue(task, args, kwargs)
        chain = client().get(result.id)
        assert chain is not None
        drain(types=[chain.type])
        result.refresh()
        return result
