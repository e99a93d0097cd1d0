"""Names of the semantic conventions for messaging, version 1.44.0.

The conventions have the status Development, so the package of constants marks these names as private. A test compares
them with that package.
"""

from __future__ import annotations

from typing import Final

SCHEMA_URL: Final = "https://opentelemetry.io/schemas/1.44.0"

SYSTEM: Final = "messaging.system"
OPERATION_NAME: Final = "messaging.operation.name"
OPERATION_TYPE: Final = "messaging.operation.type"
DESTINATION: Final = "messaging.destination.name"
MESSAGE_ID: Final = "messaging.message.id"
CONVERSATION_ID: Final = "messaging.message.conversation_id"
BATCH_COUNT: Final = "messaging.batch.message_count"
CLIENT_ID: Final = "messaging.client.id"
ERROR_TYPE: Final = "error.type"

SENT_MESSAGES: Final = "messaging.client.sent.messages"
CONSUMED_MESSAGES: Final = "messaging.client.consumed.messages"
OPERATION_DURATION: Final = "messaging.client.operation.duration"
PROCESS_DURATION: Final = "messaging.process.duration"

# Names of our own.
ATTEMPT: Final = "holdfast.attempt"
DEDUPLICATED: Final = "holdfast.deduplicated"
OUTCOME: Final = "holdfast.outcome"
STEP: Final = "holdfast.step"
STEP_EACH: Final = "holdfast.step.each"
STATUS: Final = "holdfast.status"
WAIT_DURATION: Final = "holdfast.wait.duration"
BACKLOG: Final = "holdfast.backlog"
OLDEST_DUE: Final = "holdfast.oldest_due.age"
