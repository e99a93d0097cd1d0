"""The duration of simulated work: fixed, or from a distribution, and the same for the same seed."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Literal

Shape = Literal["fixed", "uniform", "normal", "exponential"]

PARAMETERS: dict[Shape, tuple[str, ...]] = {
    "fixed": ("seconds",),
    "uniform": ("least", "most"),
    "normal": ("mean", "deviation"),
    "exponential": ("mean",),
}
LONGEST = 86_400.0


@dataclass(frozen=True, slots=True)
class Duration:
    """Seconds. `numbers` are the parameters of the shape: one for fixed and exponential, two for the others."""

    shape: Shape = "fixed"
    numbers: tuple[float, ...] = (0.1,)

    def __post_init__(self) -> None:
        wanted = PARAMETERS.get(self.shape)
        if wanted is None:
            raise ValueError(f"a duration is {', '.join(PARAMETERS)}, not {self.shape!r}")
        if len(self.numbers) != len(wanted):
            raise ValueError(f"a duration that is {self.shape} takes {len(wanted)}: {', '.join(wanted)}")
        if not all(0 <= number <= LONGEST for number in self.numbers):
            raise ValueError(f"a duration lies between 0 s and a day, unlike {', '.join(map(str, self.numbers))}")
        if self.shape == "uniform" and self.numbers[0] > self.numbers[1]:
            raise ValueError(f"a uniform duration goes from the least to the most, unlike {self.numbers}")

    def draw(self, seed: str) -> float:
        """The duration for this seed, never negative."""
        # random.Random hashes a text seed with SHA-512, so the value is the same in every process.
        chance = random.Random(seed)
        first, second = (*self.numbers, 0.0)[:2]
        match self.shape:
            case "fixed":
                return first
            case "uniform":
                return chance.uniform(first, second)
            case "normal":
                return min(max(0.0, chance.gauss(first, second)), LONGEST)
            case "exponential":
                return min(chance.expovariate(1 / first), LONGEST) if first else 0.0
