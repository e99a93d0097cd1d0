"""The command CONNECT: it names this client and logs it in."""

from __future__ import annotations

import base64
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from holdfast.stores.extras import needing_extra
from holdfast.stores.nats.address import NatsAddress

_BLOCK = re.compile(r"-----BEGIN ([A-Z ]+)-----\s+(\S+)\s+-+END")
"""A block of a credentials file: the JWT, and the seed of the NKEY."""


def check_driver(address: NatsAddress) -> None:
    """Raise MissingExtra if the login of the address needs a package that is not installed."""
    if address.creds is not None or address.nkey is not None:
        with needing_extra(__name__):
            import_module("nkeys")


def connect_command(address: NatsAddress, info: dict[str, Any], *, tls: bool) -> bytes:
    """The command for a server that sent this INFO. Raises ConnectionError if a file of the address is unusable."""
    fields: dict[str, Any] = {
        "verbose": False,
        "pedantic": False,
        "tls_required": tls,
        "lang": "python",
        "version": "0",
        "protocol": 1,
        "name": "holdfast",
        **address.login,
        **_signed(address, str(info.get("nonce", ""))),
    }
    return b"CONNECT " + msgspec.json.encode(fields) + b"\r\n"


def _signed(address: NatsAddress, nonce: str) -> dict[str, str]:
    """The fields of a login by key: the server verifies the signature of its nonce."""
    if address.creds is not None:
        blocks = dict(_BLOCK.findall(_text(address.creds)))
        try:
            jwt, seed = blocks["NATS USER JWT"], blocks["USER NKEY SEED"]
        except KeyError:
            raise ConnectionError("the file of creds= has no user JWT or no seed of an NKEY") from None
        return {"jwt": jwt, "sig": _signature(seed, nonce)[1]}
    if address.nkey is not None:
        key, signature = _signature(_text(address.nkey).strip(), nonce)
        return {"nkey": key, "sig": signature}
    return {}


def _signature(seed: str, nonce: str) -> tuple[str, str]:
    nkeys: Any = import_module("nkeys")  # Any: the package has no types
    try:
        pair = nkeys.from_seed(bytearray(seed.encode()))
        public, signature = pair.public_key.decode(), pair.sign(nonce.encode())
    except Exception as error:  # nkeys raises several classes, and binascii.Error
        raise ConnectionError(f"the seed of the NKEY cannot be used: {type(error).__name__}") from None
    return public, base64.urlsafe_b64encode(signature).rstrip(b"=").decode()


def _text(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError as error:
        raise ConnectionError(f"the file for the login to NATS cannot be read: {error.strerror}") from None
