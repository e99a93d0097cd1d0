"""Which group runs which types."""

from __future__ import annotations

import pytest

from holdfast import Jobs
from holdfast.simulation import WorkKind
from holdfast.supervisor import Group, Supervisor
from holdfast.supervisor.child_protocol import assign_types, find_jobs
from tests.supervisor.letters import letters

jobs = Jobs()


@jobs.job
async def one() -> None: ...


@jobs.job
async def other() -> None: ...


@jobs.declare
async def elsewhere() -> None: ...


jobs.add(letters.job_type)


def test_a_group_without_types_takes_what_no_other_names() -> None:
    shares = assign_types([Group(), Group(name="cpu", types=("other",))], jobs)

    assert shares == {"default": ("one", "queue:letters"), "cpu": ("other",)}


def test_a_group_may_name_queues_beside_types() -> None:
    shares = assign_types([Group(), Group(name="mail", types=("other",), queues=("letters",))], jobs)

    assert shares == {"default": ("one",), "mail": ("other", "queue:letters")}


def test_a_group_with_nothing_left_to_take_does_not_run() -> None:
    shares = assign_types([Group(), Group(name="all", types=("one", "other"), queues=("letters",))], jobs)

    assert shares == {"all": ("one", "other", "queue:letters")}


@pytest.mark.parametrize(
    ("groups", "complaint"),
    [
        ([Group(types=("missing",))], "no job type 'missing'"),
        ([Group(types=("elsewhere",))], "no job type 'elsewhere'"),
        ([Group(types=("one",)), Group(name="cpu", types=("one", "other"))], "belongs to group 'default' already"),
        (
            [Group(), Group(name="mail", queues=("missing",))],
            "no queue 'missing' has a handler here; these do: letters",
        ),
        ([Group(queues=("letters",)), Group(name="cpu", types=("queue:letters",))], "queue 'letters' belongs to"),
        ([Group(), Group(name="cpu")], "only one can take what is left"),
        ([Group(types=("one",))], "no group takes job type 'other', queue 'letters'"),
    ],
)
def test_groups_that_leave_a_type_out_or_contend_for_it_are_refused(groups: list[Group], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        assign_types(groups, jobs)


def test_work_kinds_are_job_types_too() -> None:
    found = find_jobs("tests.supervisor.test_groups:jobs", [WorkKind(name="quick")])

    assert {job_type.name for job_type in found} == {"one", "other", "elsewhere", "queue:letters", "work.quick"}


def test_a_store_that_processes_cannot_share_is_refused() -> None:
    with pytest.raises(ValueError, match="exists in one process only"):
        Supervisor("memory://here", "tests.supervisor.work:jobs")
