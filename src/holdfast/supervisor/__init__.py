"""The supervisor: worker processes that come and go with the backlog."""

from holdfast.supervisor.group import Group
from holdfast.supervisor.order import Logging
from holdfast.supervisor.supervisor import Supervisor

__all__ = ["Group", "Logging", "Supervisor"]
