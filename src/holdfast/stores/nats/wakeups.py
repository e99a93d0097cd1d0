"""Wake-ups through a NATS server, for a SQL store."""

from __future__ import annotations

from typing import Self

from holdfast.stores.nats.address import read_address
from holdfast.stores.nats.channel import NatsChannel
from holdfast.stores.nats.login import check_driver
from holdfast.stores.pubsub.wakeups import PubSubWakeups


class NatsWakeups(PubSubWakeups):
    """Hints between all processes that use a namespace of a NATS server or cluster."""

    @classmethod
    def at(cls, address: str) -> Self:
        """Wake-ups through the NATS at this address. Raises MissingExtra if its login needs the extra `nats`."""
        read = read_address(address)
        check_driver(read)
        return cls(NatsChannel(read))
