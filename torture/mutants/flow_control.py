"""Mutants of limits, rates, orders, failure hooks and schedules."""

from __future__ import annotations

from torture.mutants.mutant import Edit, Mutant, postgres, sqlite

MUTANTS: dict[str, Mutant] = {
    "permits not counted": Mutant(
        "the count of the jobs that hold a lane",
        (24,),
        {
            "sqlite": (
                sqlite(
                    "lanes_state", "(select count(*) from holdfast_permit permit where permit.lane = lane.lane)", "0"
                ),
                sqlite("lanes_state", "where job.lane = lane.lane and", "where false and"),
            ),
            "postgres": (
                postgres("lanes_state", "(select count(*) from holdfast.permit where permit.lane = wanted.lane)", "0"),
                postgres("lanes_state", "'running' and job.lane = wanted.lane", "'running' and false"),
            ),
            "redis": (
                Edit(
                    "shared/lane_claims.lua",
                    "return lanes.running_in(lane) < state.number",
                    "return true",
                ),
            ),
        },
        favour=("start_limited",),
    ),
    "lanes without locks": Mutant(
        "the lock of the lanes that a claim reads: two claims at once give the last place away twice",
        (24, 37),
        {"postgres": (postgres("lanes_lock", " for update)", ")"),)},
        favour=("start_limited", "start_ordered"),
        longer=20,
    ),
    "permits that stay": Mutant(
        "the release of the lanes of a reaped job: its lanes stay full forever",
        (1, 10, 23, 30),
        {
            "sqlite": (
                Edit(
                    "holdfast.stores.sqlite.migrations:0001_jobs",
                    "when old.track is not null and old.status = 'running' and new.status <> 'running' begin",
                    "when old.track is not null and old.status = 'running' and new.status <> 'running'\n"
                    "    and new.token is not null begin",
                ),
            ),
            "postgres": (
                Edit(
                    "holdfast.stores.postgres.migrations:0001_jobs",
                    "    if old.status = 'running' and new.status <> 'running' then\n        if old.lane",
                    "    if old.status = 'running' and new.status <> 'running'\n"
                    "       and old.leased_until > holdfast.clock(null) then\n        if old.lane",
                ),
            ),
            "redis": (
                Edit(
                    "shared/lanes.lua",
                    "  elseif job.status == RUNNING then\n",
                    "  elseif job.status == RUNNING and tonumber(job.leased_until) > now then\n",
                ),
            ),
        },
        favour=("start_limited",),
    ),
    "rates not charged": Mutant(
        "the advance of the clock of a rate",
        (37,),
        {
            "sqlite": (
                _charge := Edit("holdfast.core.lanes", "self.tat = max(self.tat, now) +", "self.tat = now + 0 *"),
            ),
            "postgres": (_charge,),
            "redis": (
                Edit(
                    "shared/rates.lua",
                    "state.tat = math.max(state.tat, now) + lanes.interval(state, weight)",
                    "state.tat = now",
                ),
            ),
        },
        favour=("start_metered",),
    ),
    "the last one first": Mutant(
        "the position in an order: the newest job is taken as the front",
        (37,),
        {
            "sqlite": (
                sqlite("lanes_state", "order by place.position limit 1", "order by place.position desc limit 1"),
            ),
            "postgres": (
                postgres("lanes_state", "order by place.position limit 1", "order by place.position desc limit 1"),
            ),
            "redis": (
                Edit(
                    "shared/lane_state.lua",
                    "lanes.key('places', lane), '0', '0')",
                    "lanes.key('places', lane), '-1', '-1')",
                ),
            ),
        },
        favour=("start_ordered",),
    ),
    "no hook for a failure": Mutant(
        "the hook in the settlement of a failed attempt, in one of ten cases",
        (34,),
        everywhere=(
            Edit(
                "holdfast.core.permanent_failure",
                "    group = classify(job.type, error)\n    if hook is None:",
                "    group = classify(job.type, error)\n    if hook is None or __import__('random').random() < 0.1:",
            ),
        ),
        favour=("start_fragile",),
    ),
    "no hook for a lost lease": Mutant(
        "the hook of a job that fails because its last lease was lost",
        (34,),
        {
            "sqlite": (
                Edit("holdfast.stores.sqlite.verbs.reap", "yield from blockers.start_hook(context, reaped)", "pass"),
            ),
            "postgres": (
                Edit("holdfast.stores.postgres.verbs.reap", "yield from start_hooks(context, failed)", "pass"),
            ),
            "redis": (Edit("reap.lua", "      start_hook(job, 'LeaseLost: ' .. message)\n", ""),),
        },
        favour=("start_poison",),
    ),
    "hooks twice": Mutant(
        "that a hook starts once: a failed blocker starts two",
        (34,),
        {
            "sqlite": (
                Edit(
                    "holdfast.stores.sqlite.verbs.blockers",
                    "                yield from start_hook(context, record(row))",
                    "                yield from start_hook(context, record(row))\n"
                    "                yield from start_hook(context, record(row))",
                ),
            ),
        },
        favour=("start_fan_in",),
        longer=10,
    ),
    "ticks without comparing": Mutant(
        "the comparison of the version before a schedule is written: a tick and a fire at once overwrite each other",
        (15,),
        {
            "sqlite": (
                Edit(
                    "holdfast.stores.sqlite.verbs.schedules",
                    "    if version not in (operation.expected, operation.version):\n        return None\n",
                    "",
                ),
                Edit(
                    "holdfast.stores.sqlite.verbs.schedules",
                    "    if version != operation.expected:  # an earlier try wrote it\n",
                    "    if version == operation.version:\n",
                ),
            ),
            "postgres": (
                Edit(
                    "holdfast.stores.postgres.verbs.schedules",
                    "    if version not in (op.expected, op.version):\n        return None\n"
                    "    if version == op.expected:\n",
                    "    if version != op.version:\n",
                ),
            ),
            "redis": (
                Edit("change_schedule.lua", "if row[1] ~= expected and row[1] ~= version then", "if false then"),
                Edit("change_schedule.lua", "if row[1] == expected then", "if row[1] ~= version then"),
            ),
        },
        favour=("fire",),
    ),
}
