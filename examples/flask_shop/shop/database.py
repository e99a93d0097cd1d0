"""The database of the shop: its address and its sessions."""

from __future__ import annotations

import os

from sqlalchemy import create_engine
from sqlalchemy.orm import Session, scoped_session, sessionmaker

ADDRESS = os.environ["DATABASE_URL"]
"""The jobs are in the same database, so that they commit with the orders."""

engine = create_engine(ADDRESS.replace("postgresql://", "postgresql+psycopg://", 1))
session: scoped_session[Session] = scoped_session(sessionmaker(engine))
"""The session of the current thread: of a request, or of a handler."""
