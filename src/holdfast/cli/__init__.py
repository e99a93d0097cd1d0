"""The command line: `holdfast --help` tells what there is. Nothing else in Holdfast imports it."""

__all__ = ["main"]


def main() -> None:
    """The `holdfast` script."""
    try:
        # Only here: a supervised process needs one module of this package, neither the commands nor what draws them.
        from holdfast.cli.app import main as run

        run()
    except KeyboardInterrupt:  # while it loads; the commands answer to it themselves
        raise SystemExit(130) from None
