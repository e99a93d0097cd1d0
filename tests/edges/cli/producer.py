"""An application that starts jobs of `shop`. It declares their types and has no handlers."""

from holdfast import Jobs

jobs = Jobs()


@jobs.declare
async def add(a: int, b: int = 2) -> int:
    raise NotImplementedError
