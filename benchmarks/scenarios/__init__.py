"""Scenarios: one file per idea. Each measures one run on fresh storage, and answers figures by name."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.scenarios.alone import Alone
from benchmarks.scenarios.capped import Capped
from benchmarks.scenarios.chains import Chains
from benchmarks.scenarios.draining import Drain
from benchmarks.scenarios.fan_in import FanIn
from benchmarks.scenarios.history import History
from benchmarks.scenarios.importing import Importing
from benchmarks.scenarios.joining import Joining
from benchmarks.scenarios.keyed import Keyed
from benchmarks.scenarios.lanes import FullLane, LaneDrain
from benchmarks.scenarios.latency import Latency
from benchmarks.scenarios.pinned import Pinned
from benchmarks.scenarios.processes import Processes
from benchmarks.scenarios.scenario import Scenario
from benchmarks.scenarios.schedules import Schedules
from benchmarks.scenarios.starting import Starting
from benchmarks.scenarios.steps import Sequence as SequentialSteps
from benchmarks.scenarios.steps import Steps
from benchmarks.scenarios.transactional import Transactional

SCENARIOS: Sequence[Scenario] = (
    Starting(),
    Drain("drain, concurrency 10", 10),
    Drain("drain, best settings", None),
    Latency(),
    Transactional(),
    Joining(),
    Steps("concurrency 10", 10),
    Steps("best settings", None),
    SequentialSteps(),
    Chains(),
    FanIn(100),
    FanIn(10_000),
    Processes(2),
    Processes(4),
    History(),
    Pinned(),
    Keyed(),
    Capped(),
    Schedules(),
    LaneDrain("limited"),
    LaneDrain("ordered"),
    FullLane("full lane"),
    FullLane("full second lane"),
    Alone(),
    Importing(),
)
