"""The supervisor: it scales by what is due as long as it knows that, and its endpoint only tells."""

from __future__ import annotations

from torture.mutations.mutant import Edit, Mutant

MUTANTS: dict[str, Mutant] = {
    "nothing due when unknown": Mutant(
        "the fleet's standing still while the backlog cannot be read: it goes down to nothing",
        (25,),
        everywhere=(
            Edit(
                "holdfast.supervisor.scaling",
                "        if due is None:\n",
                "        if due is None:\n            self.target = 0\n",
            ),
        ),
        favour=("start_elastic",),
        faults=("kill",),
        supervised=True,
    ),
    "an endpoint that echoes": Mutant(
        "the refusal of orders at the endpoint, and of what is not there without a word of it",
        (33,),
        everywhere=(
            Edit("holdfast.supervisor.endpoint", 'if method in ("GET", "HEAD"):', "if True:"),
            Edit(
                "holdfast.supervisor.endpoint",
                '"there are /healthz, /readyz, /backlog and /metrics\\n"',
                'f"there is no {path}\\n"',
            ),
        ),
        faults=("kill",),
        supervised=True,
    ),
}
