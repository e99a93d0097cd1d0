"""Tests interrupt the programs that they start, also where they themselves run in the background of a shell.

Such a shell has its background ignore interrupts, and programs pass that on to those they start.
"""

from __future__ import annotations

import signal

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
