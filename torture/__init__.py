"""Torture: a mixed workload on a real store, faults while it runs, and a checker that reads what happened afterwards.

``python -m torture --store sqlite --profile smoke --seed 1 --report out.json``. Not part of the wheel.

The parts: `producer` and `worker` are processes, each writing a `history`. A `ground` is a store with its server, an
`audit` that the store writes in the same transaction or script as each transition, and a ledger that handlers write in
their completion transactions. `nemesis` does harm. `checker` reads the evidence, offline, and judges each invariant.
"""
