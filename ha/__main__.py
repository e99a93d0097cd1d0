"""Fail a cluster over under load: `python -m ha`, or `make ha`. The exit code is 1 if a promise was broken."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ha.cluster import Cluster, running_cluster
from ha.faults import Outage, kill_primary, switch_over
from ha.jobs import EFFECTS
from ha.load import running_load
from ha.processes import Missing, wait_for
from ha.verdict import Verdict, drained, judge
from holdfast.stores.postgres import PostgresStore


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m ha", description=__doc__)
    parser.add_argument("--replication", choices=("synchronous", "asynchronous", "both"), default="both")
    parser.add_argument("--kills", type=int, default=2, help="how often the primary is killed")
    parser.add_argument("--lag", type=float, default=0.5, help="seconds of lag before the last kill, if asynchronous")
    parser.add_argument("--report", type=Path, help="a file for the report as JSON")
    options = parser.parse_args()
    modes = ("synchronous", "asynchronous") if options.replication == "both" else (options.replication,)
    report: dict[str, Any] = {}
    sound = True
    for mode in modes:
        try:
            outages, verdict = run(synchronous=mode == "synchronous", kills=options.kills, lag=options.lag)
        except Missing as missing:
            print(missing)
            return 2
        kept = verdict.sound(synchronous=mode == "synchronous")
        sound &= kept
        report[mode] = {"outages": [asdict(outage) for outage in outages], "verdict": asdict(verdict), "sound": kept}
        print(json.dumps({mode: report[mode]}, indent=1), flush=True)
    if options.report is not None:
        options.report.write_text(json.dumps(report, indent=1) + "\n")
    return 0 if sound else 1


def run(*, synchronous: bool, kills: int, lag: float) -> tuple[list[Outage], Verdict]:
    """Start a cluster and a load, apply the faults, and judge what is left."""
    with running_cluster(synchronous=synchronous) as cluster:
        PostgresStore(cluster.hosts_address).migrate_sync()
        with cluster.connect() as connection:
            connection.execute(EFFECTS)
        with running_load(cluster, cluster.home / "load") as load:
            outages = _faults(cluster, load, synchronous=synchronous, kills=kills, lag=lag)
            load.stop_producers()
            wait_for(lambda: _drained(cluster), "the end of all jobs", 180)
            with cluster.connect() as connection:
                return outages, judge(connection, load)


def _faults(cluster: Cluster, load: Any, *, synchronous: bool, kills: int, lag: float) -> list[Outage]:
    outages = [switch_over(cluster, load)]
    for number in range(kills):
        cluster.wait_until_complete(synchronous=synchronous)
        late = lag if not synchronous and number == kills - 1 else 0.0
        outages.append(kill_primary(cluster, load, lag=late))
    return outages


def _drained(cluster: Cluster) -> bool:
    with cluster.connect() as connection:
        return drained(connection)


if __name__ == "__main__":
    sys.exit(main())
