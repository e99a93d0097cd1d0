"""The tables of the shop."""

from __future__ import annotations

from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column


class Base(DeclarativeBase):
    pass


class Order(Base):
    __tablename__ = "orders"

    id: Mapped[int] = mapped_column(primary_key=True)
    customer: Mapped[str]
    cents: Mapped[int]
    status: Mapped[str] = mapped_column(default="placed")
    chain: Mapped[str] = mapped_column(default="")
    """The chain of its jobs: an approval needs it."""


class Report(Base):
    __tablename__ = "reports"

    id: Mapped[int] = mapped_column(primary_key=True)
    shipped: Mapped[int]
