"""Synthetic work for demos, load tests and trying a deployment: its outcomes are known beforehand, and checked."""

from holdfast.simulation.duration import Duration
from holdfast.simulation.kinds import Prediction, WorkKind, predict
from holdfast.simulation.report import SimulationReport
from holdfast.simulation.simulating import Progress, simulate
from holdfast.simulation.work import simulated

__all__ = ["Duration", "Prediction", "Progress", "SimulationReport", "WorkKind", "predict", "simulate", "simulated"]
