"""The supervisor: runs as many worker processes as the backlog needs."""

from holdfast.supervisor.child_protocol import Logging
from holdfast.supervisor.group import Group, GroupError
from holdfast.supervisor.supervisor import Supervisor

__all__ = ["Group", "GroupError", "Logging", "Supervisor"]
