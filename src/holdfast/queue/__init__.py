"""Named queues: jobs under ids that the caller chooses, with deduplication, waiting for results, and kept results."""

from holdfast.queue.after_execution import Execution
from holdfast.queue.answers import Cancelling, Completed, Duplicate, JobStatus, QueueCounts, Queued, State, Updating
from holdfast.queue.codecs import JsonCodec, MsgpackCodec, PayloadCodec, content_id
from holdfast.queue.event_stream import QueueEvent
from holdfast.queue.queue import Queue
from holdfast.queue.queue_job import QueueJob
from holdfast.queue.queue_reaper import Reaper
from holdfast.queue.sync_queue import SyncQueue

__all__ = [
    "Cancelling",
    "Completed",
    "Duplicate",
    "Execution",
    "JobStatus",
    "JsonCodec",
    "MsgpackCodec",
    "PayloadCodec",
    "Queue",
    "QueueCounts",
    "QueueEvent",
    "QueueJob",
    "Queued",
    "Reaper",
    "State",
    "SyncQueue",
    "Updating",
    "content_id",
]
