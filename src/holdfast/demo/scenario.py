"""The scenario: what happens in the shop, in order, and what is displayed."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import quote

from rich.console import Console

from holdfast import Chain, Job, Status, SyncClient
from holdfast.demo.dashboard import DashboardProcess
from holdfast.demo.jobs import BIG, approve, is_declined_at_first, jobs
from holdfast.demo.ledger import SCHEMA, open_shop
from holdfast.demo.os_signals import Ending, ending
from holdfast.demo.shop import DemoChains, amount, approve_order, place_orders
from holdfast.demo.terminal import Snapshot, Terminal
from holdfast.demo.verdict import Verdict, judge
from holdfast.demo.workers import DemoWorker

PART_TIMEOUT = 60.0
"""The time limit of each part, in seconds. A part usually takes a few."""
BETWEEN_FRAMES = 0.1


class DemoFailed(Exception):
    """A part of the scenario did not end in time."""


def run_demo(
    console: Console,
    *,
    customers: int = 20,
    quiet: bool = False,
    opened: Callable[[str], None] | None = None,
    until: Callable[[], None] | None = None,
) -> Verdict:
    """Run the scenario on a temporary SQLite file. The verdict says whether every check passed.

    With `opened`, a dashboard runs beside it: the function is called with its URL. `until` is called at the end, before
    the file and the dashboard are removed.
    """
    with ending() as end, tempfile.TemporaryDirectory(prefix="holdfast-demo-") as folder, ExitStack() as closing:
        terminal = closing.enter_context(Terminal(console, quiet=quiet))
        story = Story(Path(folder), terminal, end)
        closing.callback(story.close)
        try:
            if opened is not None:
                opened(story.open_dashboard())
            verdict = story.play(customers=customers)
        except DemoFailed as failure:
            return Verdict(wrong=[str(failure)])
        if until is not None:
            terminal.say("the dashboard stays open until Ctrl-C", "bold")
            until()
        return verdict


class Story:
    """One run: the store, the shop in the same file, and the worker processes."""

    def __init__(self, folder: Path, terminal: Terminal, end: Ending) -> None:
        self._folder = folder
        self._stage = terminal
        self._end = end
        self._address = f"sqlite:///{quote(str(folder / 'shop.db'))}"
        self._client = SyncClient(self._address, jobs)
        self._client.open()
        self._shop = open_shop(folder / "shop.db")
        self._shop.executescript(SCHEMA)
        self._started = DemoChains([], [])
        self._workers: list[DemoWorker] = []
        self._dashboard: DashboardProcess | None = None

    def open_dashboard(self) -> str:
        """Start a dashboard on the store, and return its URL."""
        self._dashboard = DashboardProcess(self._address, self._folder)
        if self._dashboard.url is None:
            raise DemoFailed(f"the dashboard did not start; its log says:\n{self._dashboard.log.read_text()[-2000:]}")
        self._stage.say(f"dashboard on {self._dashboard.url}", "bold")
        return self._dashboard.url

    def play(self, *, customers: int) -> Verdict:
        """The whole scenario, from the first worker to the verdict."""
        terminal = self._stage
        keeper, victim = self._hire("worker-1"), self._hire("worker-2")
        terminal.say("two worker processes on one SQLite file")
        self._started = place_orders(self._client, self._shop, customers=customers)
        orders, bills = len(self._started.orders), len(self._started.bills)
        terminal.say(f"{orders} orders, and {bills} bills that wait for them: one transaction")

        declined = next(order for order in range(orders) if is_declined_at_first(order))
        self._watch(lambda _: self._has_failed_once(self._started.orders[declined]))
        terminal.say(f"the card of order {declined} is declined: its job will run again by itself", "yellow")

        self._watch(lambda frame: frame.share > 0.3 and frame.holds(victim) >= 3)
        victim.kill()
        held = self._held_by(victim)
        terminal.say(f"kill -9 {victim.pid}: {victim.name} dies in the middle of {len(held)} jobs", "bold red")
        killed_at = terminal.elapsed
        self._watch(lambda _: all(self._is_taken_back(job) for job in held))
        waited = terminal.elapsed - killed_at
        terminal.say(f"its leases ran out: {keeper.name} took back all {len(held)} jobs after {waited:.1f} s", "green")
        self._hire("worker-3")
        terminal.say("a replacement starts: worker-3")

        waiting = [chain for order, chain in enumerate(self._started.orders) if amount(order) >= BIG]
        self._watch(lambda frame: frame.share > 0.7 and all(self._waits_for_approval(chain) for chain in waiting))
        approved = sum(approve_order(self._client, chain) for chain in waiting)
        terminal.say(f"{approved} large orders are approved by an external completion, and continue", "magenta")

        self._watch(lambda frame: frame.done == frame.total)
        terminal.say("every chain is completed: the workers are stopped")
        for worker in self._workers:
            worker.stop()
        verdict = judge(self._client, self._shop, self._started, held=held)
        verdict.seconds = terminal.elapsed
        return verdict

    def close(self) -> None:
        """Stop the remaining processes, and close the file."""
        for worker in self._workers:
            worker.stop()
        if self._dashboard is not None:
            self._dashboard.stop()
        self._shop.close()
        self._client.close()

    def _hire(self, name: str) -> DemoWorker:
        worker = DemoWorker(name, self._address, self._folder)
        self._workers.append(worker)
        return worker

    def _watch(self, until: Callable[[Snapshot], bool]) -> None:
        """Display the state until this condition is true."""
        deadline = time.monotonic() + PART_TIMEOUT
        while True:
            self._end.check()
            frame = self._look()
            self._stage.show(frame)
            if until(frame):
                return
            for worker in self._workers:
                if worker.died:
                    raise DemoFailed(f"{worker.name} ended by itself; its log says:\n{worker.log.read_text()[-2000:]}")
            if time.monotonic() > deadline:
                raise DemoFailed(f"nothing more happened for {PART_TIMEOUT:.0f} s")
            time.sleep(BETWEEN_FRAMES)

    def _look(self) -> Snapshot:
        running = self._client.list_jobs(status="running", limit=100).items
        return Snapshot(self._client.stats(), len(self._started.ids), self._workers, [job.worker for job in running])

    def _held_by(self, worker: DemoWorker) -> list[Job]:
        return [job for job in self._client.list_jobs(status="running", limit=100).items if job.worker == worker.name]

    def _has_failed_once(self, chain: Chain[int]) -> bool:
        """Whether an attempt of a chain's first job, which has the chain's id, raised."""
        report = self._client.report(chain.id)
        return report is not None and any(attempt.outcome == "failed" for attempt in report.attempts)

    def _is_taken_back(self, job: Job) -> bool:
        """Whether the attempt of the dead worker was reaped: the job is pending, or runs again."""
        now = self._client.get_job(job)
        return now is not None and (now.attempt > job.attempt or now.status is not Status.RUNNING)

    def _waits_for_approval(self, chain: Chain[int]) -> bool:
        now = self._client.get(chain)
        return now is not None and now.job.type == approve.name and now.status is Status.PENDING
