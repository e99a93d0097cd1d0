"""How fast a store of one's own is: what `holdfast bench` measures, beside its data and without touching it."""

from holdfast.benchmark.measurement import Benchmark, Latency, bench
from holdfast.benchmark.private_store import private_place

__all__ = ["Benchmark", "Latency", "bench", "private_place"]
