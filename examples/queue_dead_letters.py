"""A dead-letter queue: a job that failed in its last attempt is enqueued, with its payload, on another queue."""

import asyncio
import tempfile

from holdfast import AttemptsExhausted, JobFailed, Queue, QueueJob, Retry

Email = dict[str, str]


async def send(job: QueueJob[Email]) -> None:
    if "@" not in job.payload["to"]:
        raise ValueError("not an address")
    print(f"sent to {job.payload['to']}")


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        address = f"sqlite:///{folder}/jobs.db"
        emails: Queue[Email, None] = Queue("emails", store=address, max_retries=2, retry=Retry(initial=0.01))
        emails.execute(send)
        dead_letters: Queue[Email, None] = Queue("dead-letters", store=address)
        moved = asyncio.Event()

        async def move(id: str, error: JobFailed) -> None:
            if isinstance(error, AttemptsExhausted):
                await dead_letters.enqueue(id, error.payload)
                print(f"{id} failed {error.attempts} times: {error.error}")
            moved.set()

        emails.on("failed", move)
        async with dead_letters, emails:
            await emails.enqueue("email-1", {"to": "ada@example.org"})
            await emails.enqueue("email-2", {"to": "nowhere"})
            await moved.wait()
            for letter in (await dead_letters.list("queued")).items:
                print(f"dead letter {letter.id}: {letter.payload}")


if __name__ == "__main__":
    asyncio.run(main())
