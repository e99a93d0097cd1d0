"""A queue whose payloads and results are encrypted: the store, its backups and its operators see only ciphertext."""

import asyncio
import json
import tempfile
from pathlib import Path
from typing import Any

from cryptography.fernet import Fernet, MultiFernet

from holdfast import Queue, QueueJob


class EncryptedCodec:
    """JSON within Fernet. The first key encrypts, all of them decrypt: put a new one in front to change keys."""

    def __init__(self, *keys: bytes) -> None:
        self._fernet = MultiFernet([Fernet(key) for key in keys])

    def encode(self, value: Any) -> bytes:
        return self._fernet.encrypt(json.dumps(value).encode())

    def decode(self, stored: bytes) -> Any:
        # A wrong key raises, and the job fails with that reason instead of running on garbage.
        return json.loads(self._fernet.decrypt(stored))


async def diagnose(job: QueueJob[Any]) -> Any:
    return {"patient": job.payload["patient"], "finding": "healthy"}


def readable(folder: Path, text: bytes) -> bool:
    """Whether the database, or its log, shows this text."""
    return any(text in part.read_bytes() for part in folder.iterdir())


async def main() -> None:
    old, new = Fernet.generate_key(), Fernet.generate_key()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "jobs.db"
        before, after = EncryptedCodec(old), EncryptedCodec(new, old)
        producer: Queue[Any, Any] = Queue(
            "findings", store=f"sqlite:///{file}", payload_codec=before, result_codec=after
        )
        consumer: Queue[Any, Any] = Queue(
            "findings", store=f"sqlite:///{file}", payload_codec=after, result_codec=after
        )
        consumer.execute(diagnose)
        async with producer, consumer:
            # The producer still writes with the old key; the consumer reads both and answers with the new one.
            print(await producer.enqueue_and_wait("visit-1", {"patient": "Ada"}, timeout=10))
        print("readable in the file:", readable(Path(folder), b"Ada") or readable(Path(folder), b"healthy"))


if __name__ == "__main__":
    asyncio.run(main())
