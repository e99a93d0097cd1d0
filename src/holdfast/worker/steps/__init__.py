"""Durable steps of handlers: `attempt.step`, `tx_step`, `sleep`, `receive` and `cursor`.

- `log`: the rules for one attempt.
- `results`: the codecs.
- `step_store`: the reads and writes of a worker, in batches.
- `step_logic`, `tx_step_logic` and `wait_logic`: the logic, as generators that async and blocking code share.
- `async_steps` and `async_waits`: the methods of Attempt.
- `sync_steps`, `sync_tx_step` and `sync_waits`: the methods of SyncAttempt.
"""
