"""The subject of a namespace: hints are published to it and received from it."""

from __future__ import annotations

import os
from random import sample

import msgspec

from holdfast.engine.wakeups import ANYTHING, Hints
from holdfast.stores.nats.address import NatsAddress
from holdfast.stores.nats.connection import NatsConnection, ServerError, connect
from holdfast.stores.pubsub.channel import Received, Refused, Subscribed
from holdfast.stores.pubsub.sender import Sender


class _Message(msgspec.Struct):
    """The payload, as msgpack."""

    sender: str
    hints: Hints


_decode = msgspec.msgpack.Decoder(_Message).decode


class NatsChannel:
    """Publishes and receives over two connections, each to any of the servers."""

    kind = "nats"

    def __init__(self, address: NatsAddress) -> None:
        self.shown = address.shown
        self._address = address
        self._subject = address.subject.encode()
        self._sender = Sender()
        self._publishing: NatsConnection | None = None
        self._pid = os.getpid()

    def subscribe(self) -> NatsSubscription:
        connection = self._connect()
        try:
            connection.send(b"SUB %b 1\r\nPING\r\n" % self._subject)
        except BaseException:
            connection.close()
            raise
        return NatsSubscription(connection, self._sender)

    def publish(self, hints: Hints) -> None:
        if self._pid != os.getpid():
            # A forked child must not write to the connection of its parent.
            self._pid, self._publishing = os.getpid(), None
        connection = self._publishing
        if connection is None:
            connection = self._publishing = self._connect()
        payload = msgspec.msgpack.encode(_Message(self._sender.id, hints))
        if len(payload) > connection.max_payload:
            payload = msgspec.msgpack.encode(_Message(self._sender.id, ANYTHING))
        try:
            connection.send(b"PUB %b %d\r\n%b\r\n" % (self._subject, len(payload), payload))
            connection.confirm(self._address.timeout)
        except ServerError as error:
            if error.of_permission:
                raise Refused(str(error)) from None
            self.stop_publishing()
            raise
        except BaseException:
            self.stop_publishing()
            raise

    def stop_publishing(self) -> None:
        connection, self._publishing = self._publishing, None
        if connection is not None:
            connection.close()

    def forget(self) -> None:
        """Nothing to forget: each connection tries the servers in a random order."""

    def _connect(self) -> NatsConnection:
        """A connection to the first server that accepts it."""
        nodes = self._address.nodes
        failure: Exception | None = None
        for node in sample(nodes, len(nodes)):
            try:
                return connect(self._address, node)
            except Exception as error:
                failure = error
        assert failure is not None
        raise failure


class NatsSubscription:
    """A connection that is subscribed to the subject. The reply to the first PING confirms the subscription."""

    def __init__(self, connection: NatsConnection, sender: Sender) -> None:
        self._connection = connection
        self._sender = sender
        self._confirmed = False
        self.shut_down = connection.shut_down
        self.close = connection.close

    def read(self, timeout: float) -> Received:
        payload = self._connection.read(timeout)
        if payload is None:
            confirmed, self._confirmed = self._confirmed, True
            return None if confirmed else Subscribed()
        try:
            message = _decode(payload)
        except msgspec.MsgspecError:
            return ANYTHING
        return None if message.sender == self._sender.id else message.hints

    def ping(self) -> None:
        self._connection.send(b"PING\r\n")
