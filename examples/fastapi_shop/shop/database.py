"""The database of the shop: its address, its engine and its sessions."""

from __future__ import annotations

import os

from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, async_sessionmaker, create_async_engine

Sessions = async_sessionmaker[AsyncSession]

ADDRESS = os.environ["DATABASE_URL"]
"""The jobs are in the same database, so that they commit with the orders."""


def make_engine() -> AsyncEngine:
    return create_async_engine(ADDRESS.replace("postgresql://", "postgresql+psycopg://", 1))
