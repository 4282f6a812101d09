"""Whole numbers with names, as arrays hold them, and those of them that several rooms share."""

from enum import IntEnum

import numpy as np


class Code(IntEnum):
    """A number with a name that arrays are compared with.

    numpy asks the class of what it compares an array with for `__array_ufunc__`, twice. An enum of Python
    3.11 runs code of its own to say that it has none: a comparison took three times as long, and a tick makes
    dozens. What it finds here is its own, which stands for nothing special.
    """

    __array_ufunc__ = np.ndarray.__array_ufunc__


class PathStatus(Code):
    """Outcome of a search, the same for every planner; kernels have the numbers from here."""

    NONE = 0  # no path was asked for
    PENDING = 1
    FOUND = 2
    FOUND_THROUGH_AGENTS = 3  # no path leads round the stationary agents
    NEAREST_REACHABLE = 4  # leads as near to the goal as can be
    ENCLOSED = 5  # leads nowhere: the agent is shut in
    UNREACHABLE = 6
    OUT_OF_NODES = 7  # the search needed more memory than it has
    STALE = 8


class Diagnosis(Code):
    """How an avoidance model came to its velocity; kernels have the numbers from here."""

    NONE = 0  # not asked: the agent stands or waits
    FEASIBLE = 1  # the velocity keeps every constraint
    RELAXED = 2  # no velocity kept every constraint of other agents; those were relaxed
    INFEASIBLE = 3  # not even the constraints of walls could be kept
