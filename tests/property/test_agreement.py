"""Each store agrees with memory on any sequence of verbs: results, errors, and all data that can be read.

HOLDFAST_PROPERTY_EXAMPLES sets how many sequences are tried. A long run needs `-o faulthandler_timeout=0` beside it.
"""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

from holdfast.engine import operations
from holdfast.stores.memory.verbs import VERBS
from tests.property.attempt_rules import AttemptRules
from tests.property.cases import OnMemory, OnPostgres, OnRedis, OnSqlite, as_case
from tests.property.job_machine import EXAMPLES, STEPS
from tests.property.operator_rules import OperatorRules


class Agreement(AttemptRules, OperatorRules):
    """Every verb in any order, by several workers with good and stale claims, while time moves."""


class Memory(OnMemory, Agreement):
    pass


class Sqlite(OnSqlite, Agreement):
    pass


class Postgres(OnPostgres, Agreement):
    pass


class Redis(OnRedis, Agreement):
    pass


TestMemory = as_case(Memory, examples=EXAMPLES, steps=STEPS, share=0.1)
TestSqlite = as_case(Sqlite, examples=EXAMPLES, steps=STEPS, share=0.4)
TestPostgres = as_case(Postgres, examples=EXAMPLES, steps=STEPS, share=0.15)
TestRedis = as_case(Redis, examples=EXAMPLES, steps=STEPS, share=0.4)


def test_every_verb_takes_part() -> None:
    folder = Path(__file__).parent
    reported = {
        node.id
        for file in folder.glob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Name)
    }

    # Memory is the model. Verbs that only stores with transactions of the application have are tested elsewhere.
    verbs = {
        each.__name__
        for each in filter(inspect.isclass, vars(operations).values())
        if getattr(each, "verb", None) in VERBS
    }

    assert len(verbs) == len(VERBS)
    assert verbs - reported == set()
