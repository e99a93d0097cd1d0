"""The figures of growth, and the file that holds them."""

from __future__ import annotations

from pathlib import Path
from statistics import median

import msgspec

FOLDER = Path(__file__).parent
FILE = FOLDER / "growth.json"


class StoreGrowth(msgspec.Struct):
    """Milliseconds of each operation by the number of finished and of pending jobs."""

    machine: dict[str, str]
    milliseconds: dict[str, dict[int, float]]

    def ratio(self, operation: str, size: int) -> float:
        """How much longer the operation takes than with the smallest number of jobs."""
        by_size = self.milliseconds[operation]
        return by_size[size] / by_size[min(by_size)]


def summarise(samples: dict[int, list[dict[str, float]]], machine: dict[str, str]) -> StoreGrowth:
    """The median of each operation at each size."""
    operations = list(next(iter(samples.values()))[0])
    return StoreGrowth(
        machine,
        {
            operation: {size: 1000 * median(each[operation] for each in rounds) for size, rounds in samples.items()}
            for operation in operations
        },
    )


def load() -> dict[str, StoreGrowth]:
    return msgspec.json.decode(FILE.read_bytes(), type=dict[str, StoreGrowth]) if FILE.exists() else {}


def save(growth: dict[str, StoreGrowth]) -> None:
    FILE.write_bytes(msgspec.json.format(msgspec.json.encode(growth), indent=1) + b"\n")
