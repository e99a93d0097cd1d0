"""The web application of the shop."""

from __future__ import annotations

from typing import Any

from flask import Flask, abort, request

from holdfast import AlreadyCompleted, WrongJobType
from holdfast.contrib.flask import Holdfast
from shop.database import ADDRESS, engine, session
from shop.jobs import approval, jobs, process, report, ship
from shop.models import Base, Order

holdfast = Holdfast(jobs=jobs, migrate=True)


def create_app() -> Flask:
    app = Flask("shop")
    app.config["HOLDFAST_STORE"] = ADDRESS
    holdfast.init_app(app)
    app.register_blueprint(holdfast.blueprint(report, prefix="/reports"))
    Base.metadata.create_all(engine)

    @app.teardown_appcontext
    def remove_session(error: BaseException | None) -> None:
        session.remove()

    @app.post("/orders")
    def place() -> tuple[dict[str, Any], int]:
        new: dict[str, Any] = request.get_json()
        order = Order(customer=new["customer"], cents=new["cents"])
        session.add(order)
        session.flush()  # gives the order its number
        order.chain = holdfast.starter(session).start(process.bind(order.id)).id
        if order.cents <= 0:
            abort(422, "an order costs something")  # without a commit, neither the order nor the job exists
        session.commit()
        return _shown(order), 201

    @app.get("/orders/<int:number>")
    def show(number: int) -> dict[str, Any]:
        return _shown(_found(number))

    @app.post("/orders/<int:number>/approval")
    def approve(number: int) -> dict[str, Any]:
        order = _found(number)
        try:
            with holdfast.client.completing(order.chain, type=approval, tx=session) as current:
                order.status = "approved"
                current.continue_with(ship.bind(order.id, customer=order.customer))
        except (WrongJobType, AlreadyCompleted):
            abort(409, "this order does not wait for an approval")
        session.commit()
        return _shown(order)

    return app


def _found(number: int) -> Order:
    return session.get(Order, number) or abort(404)


def _shown(order: Order) -> dict[str, Any]:
    return {"number": order.id, "customer": order.customer, "cents": order.cents, "status": order.status}
