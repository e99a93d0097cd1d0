"""A Flask application with jobs, as a module that `flask --app` imports."""

from __future__ import annotations

import os

from flask import Flask, current_app

from holdfast import Jobs, SyncAttempt
from holdfast.contrib.flask import Holdfast

jobs = Jobs()


@jobs.job
def label(number: int) -> str:
    return f"label {number} of {current_app.name}"


@jobs.job
def stepwise(attempt: SyncAttempt, parts: int) -> int:
    attempt.progress(0.5)
    return parts


@jobs.declare
def approval(number: int) -> str: ...  # type: ignore[empty-body]


holdfast = Holdfast(jobs=jobs, migrate=True)


def create_app(store: str | None = None) -> Flask:
    app = Flask("shop")
    app.config["HOLDFAST_STORE"] = store or os.environ["SHOP_STORE"]
    app.config["TESTING"] = True
    holdfast.init_app(app)
    for job_type in (label, stepwise, approval):
        app.register_blueprint(holdfast.blueprint(job_type))
    return app
