"""Synthetic work for demos, load tests and trying a deployment: its outcomes are predicted and checked."""

from holdfast.simulation.duration import Duration
from holdfast.simulation.job_types import simulated
from holdfast.simulation.report import SimulationReport
from holdfast.simulation.simulate import Progress, simulate
from holdfast.simulation.work_kinds import Prediction, WorkKind, predict

__all__ = ["Duration", "Prediction", "Progress", "SimulationReport", "WorkKind", "predict", "simulate", "simulated"]
