"""The command line: `holdfast --help` tells what there is. Nothing else in Holdfast imports it."""

import os
import signal

__all__ = ["main"]


def main() -> None:
    """The `holdfast` script."""
    if os.getpid() == 1:
        # Process 1 has no default: until a command has its own way, SIGTERM would go unheard.
        signal.signal(signal.SIGTERM, _end)
    try:
        # Only here: a supervised process needs one module of this package, neither the commands nor what draws them.
        from holdfast.cli.app import main as run

        run()
    except KeyboardInterrupt:  # while it loads; the commands answer to it themselves
        raise SystemExit(130) from None


def _end(_signal: int, _frame: object) -> None:
    raise SystemExit(143)
