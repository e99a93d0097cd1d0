"""The command line: `holdfast --help` tells what there is. Nothing else in Holdfast imports it."""

from holdfast.cli.app import main

__all__ = ["main"]
