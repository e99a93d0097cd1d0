"""The command line, one module per command. No other package imports it."""

import os
import signal

__all__ = ["main"]


def main() -> None:
    """Entry point of the `holdfast` script."""
    if os.getpid() == 1:
        # The kernel gives process 1 no default action: until a command sets its own handler, SIGTERM would be ignored.
        signal.signal(signal.SIGTERM, _end)
    try:
        # Imported here: a supervised process imports one module of this package, without the commands.
        from holdfast.cli.app import main as run

        run()
    except KeyboardInterrupt:  # during the imports; commands handle it themselves
        raise SystemExit(130) from None


def _end(_signal: int, _frame: object) -> None:
    # Like the default action of SIGTERM. The module that is being imported could catch an exception.
    os._exit(143)
