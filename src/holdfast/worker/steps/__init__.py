"""Durable steps of handlers: `attempt.step`, `tx_step`, `sleep`, `receive` and `cursor`.

`log` has the rules for one attempt, `results` the codecs, `step_store` the reads and writes of a worker, in batches.
`async_steps` and `async_waits` are the methods of Attempt, `sync_steps` and `sync_waits` those of SyncAttempt.
"""
