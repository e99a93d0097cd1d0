"""Changes by one viewer: checked against the access, and recorded in the audit with the user."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

from holdfast.bulk.names import BULK_TYPES
from holdfast.client.client import Client
from holdfast.client.steps import check_message
from holdfast.codec.codec import codec_for
from holdfast.core.job import Job
from holdfast.dashboard.access import Access, Role
from holdfast.dashboard.viewer import Viewer
from holdfast.engine.audit_user import acting_as, audit_of
from holdfast.engine.operations import SendMessage
from holdfast.errors import JobNotFound


class Forbidden(Exception):
    """The role of the viewer does not allow a change."""

    def __init__(self, role: Role) -> None:
        self.role = role
        super().__init__(f"This needs the role {role!r}.")


class Operator:
    """What pages change. Each method checks the role and the types of the viewer."""

    def __init__(self, client: Client, access: Access, viewer: Viewer) -> None:
        self._client = client
        self._access = access
        self._viewer = viewer

    @contextmanager
    def acting(self, role: Role, *types: str) -> Generator[Client]:
        """The client for a change that needs this role and concerns jobs of these types. The audit names the user.

        Raises Forbidden. For the changes of other pages: `with view.operator.acting("admin") as client:`.
        """
        if not BULK_TYPES.isdisjoint(types):
            # Its members are changed without another check of the role: a retried deletion deletes.
            role = "admin"
        if not self._access.may(role) or not self._access.sees(*types):
            raise Forbidden(role)
        if not self._access.user:
            yield self._client
            return
        with acting_as(self._access.user):
            yield self._client

    async def retry(self, job_id: str, *, from_step: str | None = None) -> None:
        job = await self._job(job_id)
        with self.acting("operate", job.type) as client:
            await client.retry(job, from_step=from_step)

    async def send(self, job_id: str, name: str, value: Any) -> bool:
        """Send a message to the chain of a job. Returns whether it is the first value of this name."""
        types, chain_id = await self._chain(job_id)
        check_message(name)
        stored = codec_for(Any).encode(value)
        with self.acting("operate", *types) as client:
            return await client.store.perform(SendMessage(chain_id, name, stored, audit=audit_of(None, name)))

    async def run_now(self, job_id: str) -> None:
        job = await self._job(job_id)
        with self.acting("operate", job.type) as client:
            await client.run_now(job)

    async def cancel(self, job_id: str) -> None:
        """Cancel the chain of a job at its current job."""
        types, chain_id = await self._chain(job_id)
        with self.acting("operate", *types) as client:
            await client.cancel(chain_id)

    async def delete(self, job_id: str) -> None:
        """Delete the chain of a job."""
        types, chain_id = await self._chain(job_id)
        with self.acting("admin", *types) as client:
            await client.delete([chain_id])

    async def skip(self, job_id: str) -> None:
        """Skip a failed job in its orders."""
        job = await self._job(job_id)
        with self.acting("operate", job.type) as client:
            await client.skip(job)

    async def pause(self, type: str) -> None:
        with self.acting("operate", type) as client:
            await client.pause(type)

    async def resume(self, type: str) -> None:
        with self.acting("operate", type) as client:
            await client.resume(type)

    async def _job(self, job_id: str) -> Job:
        """A job that the viewer may see."""
        job = await self._viewer.get_job(job_id)
        if job is None:
            raise JobNotFound(job_id)
        return job

    async def _chain(self, job_id: str) -> tuple[Sequence[str], str]:
        """The types of all jobs of the chain of a job that the viewer may see, and the id of the chain."""
        job = await self._job(job_id)
        types: set[str] = {job.type}
        cursor: str | None = None
        while True:
            page = await self._client.list_jobs(chain=job.chain_id, cursor=cursor, limit=1000)
            types.update(each.type for each in page.items)
            cursor = page.next_cursor
            if cursor is None:
                return sorted(types), job.chain_id
