"""The measurements of `holdfast bench`: the speed of a store, in an empty schema, namespace or file of its own."""

from holdfast.benchmark.measurement import Benchmark, Latency, bench
from holdfast.benchmark.private_store import private_place

__all__ = ["Benchmark", "Latency", "bench", "private_place"]
