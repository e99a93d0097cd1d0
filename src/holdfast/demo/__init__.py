"""`holdfast demo`: a shop's orders, two workers, and one of them killed in the middle.

Read it as an example: `jobs` declares the work, `shop` starts it, `story` tells what happens to it, `verdict` checks
what became of it. `stage` and `summary` only draw.
"""

from holdfast.demo.scenario import run_demo
from holdfast.demo.summary import summary
from holdfast.demo.verdict import Verdict

__all__ = ["Verdict", "run_demo", "summary"]
