"""Torture tests: a mixed workload on a real store, faults during the load, and a checker that reads the evidence.

``python -m torture --store sqlite --profile smoke --seed 1 --report out.json``. Not part of the wheel.

`producer` and `worker` are processes; each writes a `history`. A harness (`harnesses`) is a store with its server, an
`audit` that the store writes in the same transaction or script as each transition, and a ledger that handlers write in
their completion transactions. `nemesis` injects faults. `checker` reads the evidence after the run and returns a
verdict for each invariant.
"""
