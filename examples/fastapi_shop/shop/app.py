"""The web application of the shop."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import Depends, FastAPI, HTTPException, Request
from pydantic import BaseModel
from sqlalchemy.ext.asyncio import AsyncSession

from holdfast import AlreadyCompleted, WrongJobType
from holdfast.contrib.fastapi import Holdfast, Starter
from shop.database import ADDRESS, Sessions, make_engine
from shop.jobs import approval, jobs, process, report, ship
from shop.models import Base, Order


@asynccontextmanager
async def database(app: FastAPI) -> AsyncGenerator[dict[str, Any]]:
    engine = make_engine()
    async with engine.begin() as connection:
        await connection.run_sync(Base.metadata.create_all)
    yield {"sessions": Sessions(engine)}
    await engine.dispose()


async def get_session(request: Request) -> AsyncGenerator[AsyncSession]:
    async with request.state.sessions.begin() as session:
        yield session


holdfast = Holdfast(ADDRESS, jobs, lifespan=database, worker=os.environ.get("SHOP_WORKER") != "off", migrate=True)
app = FastAPI(title="shop", lifespan=holdfast.lifespan)
app.include_router(holdfast.router(report, prefix="/reports"))

session_of_request = Depends(get_session, scope="function")  # commit before the response is sent
Database = Annotated[AsyncSession, session_of_request]
InTransaction = Annotated[Starter, holdfast.starter(session_of_request)]


class NewOrder(BaseModel):
    customer: str
    cents: int


@app.post("/orders", status_code=201)
async def place(new: NewOrder, db: Database, starter: InTransaction) -> dict[str, Any]:
    order = Order(customer=new.customer, cents=new.cents)
    db.add(order)
    await db.flush()  # gives the order its number
    order.chain = (await starter.start(process.bind(order.id))).id
    if new.cents <= 0:
        raise HTTPException(422, "an order costs something")  # neither the order nor the job exists
    return _shown(order)


@app.get("/orders/{number}")
async def show(number: int, db: Database) -> dict[str, Any]:
    return _shown(await _found(db, number))


@app.post("/orders/{number}/approval")
async def approve(number: int, db: Database) -> dict[str, Any]:
    order = await _found(db, number)
    try:
        async with holdfast.client.completing(order.chain, type=approval, tx=db) as current:
            order.status = "approved"
            await current.continue_with(ship.bind(order.id, customer=order.customer))
    except (WrongJobType, AlreadyCompleted) as error:
        raise HTTPException(409, "this order does not wait for an approval") from error
    return _shown(order)


async def _found(db: AsyncSession, number: int) -> Order:
    order = await db.get(Order, number)
    if order is None:
        raise HTTPException(404)
    return order


def _shown(order: Order) -> dict[str, Any]:
    return {"number": order.id, "customer": order.customer, "cents": order.cents, "status": order.status}
