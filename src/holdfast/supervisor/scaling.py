"""How many processes a group should have. Pure: no clock, no processes."""

from __future__ import annotations

from holdfast.supervisor.group import Group


def processes_for(jobs: int, group: Group) -> int:
    """One process per `concurrency` jobs, within the group's bounds."""
    return max(group.default_count, min(group.max_count, -(-jobs // group.concurrency)))


class Scaler:
    """The number of processes of one group: it rises at once, and falls after fewer have been enough for a while.

    A due job needs a free slot, so the busy slots of the group's processes are added to the due jobs: a process whose
    slots are all busy cannot run a due job. Without a due job, no process is started. The number falls to the largest
    number that was needed during that time, so that a load that varies does not start and stop processes repeatedly.
    """

    def __init__(self, group: Group) -> None:
        self.group = group
        self.target = group.default_count
        self._low_since: float | None = None
        self._needed = 0
        """The most processes that were needed since then."""

    def decide(self, due: int | None, *, busy: int, now: float) -> int:
        """The number of processes to have. `due` is None if the backlog could not be read: then nothing changes.

        `busy` is the number of slots that had a job when the due jobs were counted.
        """
        if due is None:
            self._low_since = None  # without a reading it is unknown whether fewer would be enough
            return self.target
        needed = processes_for(due + busy, self.group)
        if due and needed > self.target:
            self.target = needed
            self._low_since = None
        elif needed >= self.target:
            self._low_since = None
        elif self._low_since is None:
            self._low_since, self._needed = now, needed
        else:
            self._needed = max(self._needed, needed)
            if now - self._low_since >= self.group.scale_down_after:
                self.target = self._needed
                self._low_since = None
        return self.target

    def follow(self, group: Group) -> None:
        """Use the bounds of a reloaded file."""
        self.group = group
        self.target = max(group.default_count, min(group.max_count, self.target))
        self._low_since = None

    @property
    def undecided(self) -> bool:
        """Whether the number may fall after some time, also without a change of the backlog."""
        return self._low_since is not None
