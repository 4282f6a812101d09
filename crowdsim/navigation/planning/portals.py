"""Portals of a mesh as what planners search: how their corridors are measured and drawn."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.kernels.threads import Team
from crowdsim.navigation.corridor.corridors import Corridor
from crowdsim.navigation.corridor.curve import CurveParameters, curve_through
from crowdsim.navigation.corridor.guess import WaitParameters
from crowdsim.navigation.corridor.measure import measure_corridors, measure_path_rows
from crowdsim.navigation.corridor.trace import make_tracing, trace_path
from crowdsim.navigation.goals.targets import TargetParameters
from crowdsim.navigation.planning.protocol import ALL, Asked, FoundPaths, Line, SearchSpace
from crowdsim.navigation.search.ground_filter import GroundFilter
from crowdsim.navigation.search.round_stationary import StationaryParameters

CHORDS = 12  # By which each piece of a curve is drawn.


class FoundCorridors(FoundPaths):
    """Paths through the corridors that an idle planner answers, without a budget."""

    def __init__(self, planner: Any, asked: Asked) -> None:
        planner.submit(0, 1 + np.arange(len(asked.goal)), *asked[2:])
        answers, _ = planner.advance(ALL, Team())
        order = np.argsort(answers.entity, kind="stable")
        self._asked, self._portals, self.piece = asked, answers.portals, answers.piece[order]
        self._start = answers.start[:-1][order]
        self._size = np.diff(answers.start)[order].astype(np.int32)

    def lengths(self, *, in_time: bool = False) -> NDArray[np.float64]:
        """Measure the shortest paths through the corridors; see `FoundPaths.lengths`."""
        mesh, goals, position, polygon, _, radius = self._asked
        length, effort = np.empty(len(position)), np.empty(len(position))
        corridors = (
            mesh,
            goals,
            self._portals,
            self._start,
            self._size,
            polygon,
            self.piece,
            position,
            radius,
        )
        if mesh.is_even:
            measure_corridors(*corridors, length)
            return length
        measure_path_rows(0, len(position), *corridors, length, effort)
        return effort if in_time else length

    def lines(self) -> list[Line]:
        """Trace the shortest paths through the corridors, parted where they change floors."""
        mesh, goals, position, _, _, radius = self._asked
        most = (int(self._size.max(initial=0)) + 2) * (int(np.diff(mesh.polygon_start).max()) + 2) + 4096
        tracing, lines = make_tracing(most, mesh.polygon_count), list[Line]()
        for row in np.flatnonzero(self.piece >= 0).tolist():
            x, y = position[row].tolist()
            corridor = self._corridor(row)
            parts = trace_path(mesh, goals, corridor, x, y, float(radius[row]), tracing)
            assert parts >= 0, "there is room for the longest corridor"
            layer = mesh.polygon_layer[tracing.over[:parts]]
            ends = [0, *(np.flatnonzero(np.diff(layer)) + 1).tolist(), parts]
            lines += [
                Line(row, int(layer[first]), tracing.place[first : last + 1].copy())
                for first, last in itertools.pairwise(ends)
                if first < last
            ]
        return lines

    def curves(self) -> list[Line]:
        """Return the paths as agents walk that are led along curves, parted where they change floors."""
        mesh, goals, position, _, _, radius = self._asked
        lines = list[Line]()
        for row in np.flatnonzero(self.piece >= 0).tolist():
            curve = curve_through(mesh, goals, self._corridor(row), position[row], float(radius[row]))
            points, layer = curve.points(CHORDS + 1), mesh.polygon_layer[curve.polygon]
            ends = [0, *(np.flatnonzero(np.diff(layer)) + 1).tolist(), len(points)]
            lines += [
                Line(row, int(layer[first]), points[first:last].reshape(-1, 2))
                for first, last in itertools.pairwise(ends)
                if first < last
            ]
        return lines

    def _corridor(self, row: int) -> Corridor:
        polygon = int(self._asked.polygon[row])
        return Corridor(
            self._portals, int(self._start[row]), int(self._size[row]), polygon, int(self.piece[row])
        )


# The least work is some 0.5 ms of one core, a path over a thousand polygons in one tick.
PORTALS = SearchSpace(
    FoundCorridors,
    2000,
    1,
    3,
    (WaitParameters, StationaryParameters, TargetParameters, GroundFilter, CurveParameters),
)
