"""How fast a store of one's own is: what `holdfast bench` measures, beside its data and without touching it."""

from holdfast.benching.measuring import Benchmark, Latency, bench
from holdfast.benching.place import private_place

__all__ = ["Benchmark", "Latency", "bench", "private_place"]
