"""`holdfast demo`: the orders of a shop, two workers, and one of them killed.

It is also an example: `jobs` declares the job types, `shop` starts the chains, `scenario` runs and kills workers,
`verdict` checks the result. `terminal` and `summary` draw the screen.
"""

from holdfast.demo.scenario import run_demo
from holdfast.demo.summary import summary
from holdfast.demo.verdict import Verdict

__all__ = ["Verdict", "run_demo", "summary"]
