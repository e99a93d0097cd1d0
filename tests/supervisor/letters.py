"""A named queue that supervised processes run, beside a job type."""

from __future__ import annotations

import os

from holdfast import Jobs, Queue
from holdfast.queue import Execution, QueueJob

jobs = Jobs()


def sign(execution: Execution[str, str]) -> None:
    """The hook adds the id of the process that ran the job."""
    execution.result = f"{execution.result} from {os.getpid()}"


letters: Queue[str, str] = Queue("letters", store="memory://", after_execution=sign)
jobs.add(letters.job_type)


@letters.execute
async def shout(job: QueueJob[str]) -> str:
    return job.payload.upper()


@jobs.job
async def other() -> None: ...
