"""The TLS context of an address."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from functools import cache


def tls_context(options: Mapping[str, str]) -> ssl.SSLContext:
    """The TLS settings of the address. The server's certificate is verified unless the address disables that."""
    return _tls_context(tuple(sorted(options.items())))


# Cached: reading the certificates takes longer than a handshake.
@cache
def _tls_context(given: tuple[tuple[str, str], ...]) -> ssl.SSLContext:
    options = dict(given)
    context = ssl.create_default_context(cafile=options.get("ssl_ca_certs"))
    if options.get("ssl_cert_reqs") == "none":
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if certificate := options.get("ssl_certfile"):
        context.load_cert_chain(certificate, options.get("ssl_keyfile"))
    return context
