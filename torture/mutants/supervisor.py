"""Mutants of the supervisor: scaling with an unknown backlog, and its health endpoint."""

from __future__ import annotations

from torture.mutants.mutant import Edit, Mutant

MUTANTS: dict[str, Mutant] = {
    "nothing due when unknown": Mutant(
        "the rule that an unknown backlog changes nothing: the target becomes 0",
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
        "the refusal of other methods at the endpoint, and a 404 that does not quote the path",
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
