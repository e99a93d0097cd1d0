"""FastAPI, Starlette and Litestar: a lifespan, starts in the session of a request, and routes for a job type.

Only `Holdfast.starter`, `.background_tasks` and `.router` import FastAPI, and `.routes` imports Starlette.
"""

from holdfast.contrib.fastapi.application import Holdfast
from holdfast.contrib.fastapi.background_tasks import DurableBackgroundTasks
from holdfast.contrib.starter import Starter

__all__ = ["DurableBackgroundTasks", "Holdfast", "Starter"]
