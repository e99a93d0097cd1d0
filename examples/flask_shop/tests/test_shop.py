"""The tests of the shop. They run the jobs with `drain`, in the context of the application."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from flask import Flask
from flask.testing import FlaskClient
from shop import jobs
from shop.app import create_app, holdfast
from shop.database import engine

from holdfast.contrib.flask.testing import drain


@pytest.fixture
def app() -> Iterator[Flask]:
    app = create_app()
    with app.app_context():
        yield app
    holdfast.close()
    engine.dispose()


@pytest.fixture
def http(app: Flask) -> FlaskClient:
    return app.test_client()


def place(http: FlaskClient, *, customer: str = "ada", cents: int = 1999) -> str:
    placed = http.post("/orders", json={"customer": customer, "cents": cents})
    assert placed.status_code == 201
    return f"/orders/{placed.get_json()['number']}"


def status(http: FlaskClient, order: str) -> Any:
    return http.get(order).get_json()["status"]


def test_an_order_is_shipped(app: Flask, http: FlaskClient) -> None:
    order = place(http)
    assert status(http, order) == "placed"

    drain(app)

    assert status(http, order) == "shipped"


def test_a_refused_order_leaves_no_job(app: Flask, http: FlaskClient) -> None:
    before = holdfast.client.stats().counts

    refused = http.post("/orders", json={"customer": "ada", "cents": 0})

    assert refused.status_code == 422
    assert holdfast.client.stats().counts == before


def test_a_large_order_waits_for_an_approval(app: Flask, http: FlaskClient) -> None:
    order = place(http, cents=500_00)
    assert http.post(f"{order}/approval").status_code == 409  # not yet processed
    drain(app)
    assert status(http, order) == "waits for approval"

    assert http.post(f"{order}/approval").get_json()["status"] == "approved"
    assert http.post(f"{order}/approval").status_code == 409  # one of two clicks wins
    drain(app)

    assert status(http, order) == "shipped"


def test_a_customer_gets_one_parcel_at_once(app: Flask, http: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    running: list[str] = []
    most: dict[str, int] = {}
    lock = threading.Lock()

    def send_parcel(order: int, customer: str) -> str:
        with lock:
            running.append(customer)
            most[customer] = max(most.get(customer, 0), running.count(customer))
        time.sleep(0.02)
        with lock:
            running.remove(customer)
        return f"parcel {order}"

    monkeypatch.setattr(jobs, "send_parcel", send_parcel)
    customer = f"grace-{uuid4()}"
    orders = [place(http, customer=customer) for _ in range(4)]

    drain(app, concurrency=8)

    assert most[customer] == 1
    assert [status(http, order) for order in orders] == ["shipped"] * 4


def test_the_report_of_the_night_counts_shipped_orders(app: Flask, http: FlaskClient) -> None:
    place(http)
    drain(app)

    chain = holdfast.client.fire("nightly-report")
    drain(app)

    assert holdfast.client.wait(chain) >= 1
    assert http.get(f"/reports/{chain.id}").get_json()["status"] == "completed"
