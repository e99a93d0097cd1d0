"""The supervisor: worker processes that come and go with the backlog."""

from holdfast.supervisor.child_protocol import Logging
from holdfast.supervisor.group import Group, GroupError
from holdfast.supervisor.supervisor import Supervisor

__all__ = ["Group", "GroupError", "Logging", "Supervisor"]
