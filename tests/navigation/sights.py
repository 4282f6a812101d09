"""One planner over points of visibility for one question, as the tests of its room need it."""

from __future__ import annotations

import itertools

import numpy as np
import shapely

from crowdsim.kernels.threads import Team
from crowdsim.navigation.corridor.measure import measure_corridors
from crowdsim.navigation.goals.goals import GoalShape, cut_goals
from crowdsim.navigation.mesh.build import MeshParameters, build_mesh
from crowdsim.navigation.search.slot_fields import FOUND
from crowdsim.navigation.visibility.planner import VisibilityParameters, VisibilityPlanner
from crowdsim.navigation.visibility.search import BEST_NODE, EXPANSIONS, RADIUS, TESTS, end_of
from tests.navigation.worlds import located, point_goals

ALL = 10**9


class Sights:
    """A mesh whose paths are looked for over points of visibility."""

    def __init__(self, mesh, **parameters) -> None:
        self.mesh = mesh
        self.parameters = VisibilityParameters(**parameters)

    @classmethod
    def on(cls, ground, cells: str = "polygons", **parameters):
        """Return one on the mesh of some ground."""
        return cls(build_mesh(ground, parameters=MeshParameters(faces=cells)).mesh, **parameters)

    def planner(self, shapes):
        """Return a planner for goals: points, or shapely shapes."""
        goals = cut_goals(
            self.mesh, [GoalShape(shapely.Point(s) if not hasattr(s, "geom_type") else s) for s in shapes]
        )
        return VisibilityPlanner(self.mesh, goals, self.parameters)

    def paths(self, starts, ends, radius, slice_size: int = ALL):
        """Ask for paths between pairs of points; return a `Paths`."""
        starts = np.atleast_2d(np.asarray(starts, dtype=np.float64))
        goals = point_goals(self.mesh, np.atleast_2d(ends))
        planner = VisibilityPlanner(self.mesh, goals, self.parameters)
        radius = np.full(len(starts), radius, dtype=np.float64)
        return ask(planner, starts, np.arange(len(starts), dtype=np.int32), radius, slice_size)

    def path(self, start, end, radius: float = 0.0):
        """Return what one path costs (inf if there is none) and the positions of the corners that it bends
        round.
        """
        paths = self.paths([start], [end], radius)
        return paths.cost[0], paths.corners(0)


class Paths:
    """Answers, with what the paths cost and how long their corridors' taut strings are."""

    def __init__(self, planner, starts, radius) -> None:
        self.planner, self.starts, self.radius = planner, starts, radius
        count = len(starts)
        self.cost, self.status = np.full(count, np.inf), np.zeros(count, dtype=np.uint8)
        self.piece = np.full(count, -1, dtype=np.int32)
        self.portals: list[np.ndarray] = [np.zeros(0, dtype=np.int32)] * count
        self.expansions = 0

    def take(self, answers, used: int) -> None:
        """Note answers."""
        self.expansions += used
        for k, entity in enumerate(answers.entity.tolist()):
            self.status[entity], self.piece[entity] = answers.status[k], answers.piece[k]
            self.portals[entity] = answers.portals[answers.start[k] : answers.start[k + 1]]
            self.cost[entity] = self.planner.costs[entity] if answers.status[k] == FOUND else np.inf

    def corners(self, row: int):
        """Return the corners of the last path that the first slot found;
        only sensible where one path was requested.
        """
        slots, graph = self.planner._slots, self.planner.graph
        slot = int(np.flatnonzero(slots.measure[:, RADIUS] == self.radius[row])[0])
        node, found = int(slots.header[slot, BEST_NODE]), []
        while node >= 0:
            end = int(end_of.py_func(graph, node))
            found.append((*graph.corners.position[end // 2].tolist(), "left" if end % 2 == 0 else "right"))
            node = int(slots.parent[slot, node]) if node < graph.edge_count else -1
        return found[::-1]

    def line(self, row: int, goal):
        """Return a path as a line, arcs by chords of a degree; as `corners`."""
        radius = self.radius[row]
        discs = [
            (*self.starts[row], 0.0),
            *((x, y, radius if side == "left" else -radius) for x, y, side in self.corners(row)),
            (*goal, 0.0),
        ]
        points, before = [], None
        for a, b in itertools.pairwise(discs):
            u, length, _ = _direction(a, b)
            if before is not None and radius > 0.0:
                angle = np.arctan2(before[0] * u[1] - before[1] * u[0], before @ u)
                for t in np.linspace(0.0, angle, 2 + int(abs(angle) / 0.017))[:-1]:
                    w = np.array(
                        [
                            np.cos(t) * before[0] - np.sin(t) * before[1],
                            np.sin(t) * before[0] + np.cos(t) * before[1],
                        ]
                    )
                    points.append((a[0] + a[2] * w[1], a[1] - a[2] * w[0]))
            begin = (a[0] + a[2] * u[1], a[1] - a[2] * u[0])
            points += [begin, (begin[0] + length * u[0], begin[1] + length * u[1])]
            before = u
        return np.array(points)

    def strings(self):
        """Return the lengths of the taut strings through the corridors (m), inf where there is none."""
        mesh, out = self.planner.terrain.mesh, np.empty(len(self.starts))
        cells = np.concatenate([np.zeros(1, dtype=np.int32), *self.portals])
        ahead = np.array([len(c) for c in self.portals], dtype=np.int32)
        block = 1 + np.cumsum([0, *ahead[:-1]]).astype(np.int64)
        goals = self.planner.terrain.goals
        measure_corridors(
            mesh,
            goals,
            cells,
            block,
            ahead,
            located(mesh, self.starts),
            self.piece,
            self.starts,
            self.radius,
            out,
        )
        return out


def ask(planner, starts, goal, radius, slice_size: int = ALL):
    """Ask a planner for all paths at once, in slices."""
    paths = Paths(planner, starts, radius)
    planner.submit(0, np.arange(len(starts)), starts, located(planner.terrain.mesh, starts), goal, radius)
    while planner.waiting:
        paths.take(*planner.advance(slice_size, Team(1)))
    return paths


def _direction(a, b):
    """Return the unit direction of the tangent from disc a to disc b, its length,
    and the sine by which it turns off the line of centres.
    """
    d = np.array([b[0] - a[0], b[1] - a[1]])
    length = float(np.hypot(*d))
    d /= length
    across = np.clip((b[2] - a[2]) / length, -1.0, 1.0)
    along = float(np.sqrt(1.0 - across * across))
    return along * d + across * np.array([d[1], -d[0]]), along * length, across


def counts(planner):
    """Return (expansions, lines of sight that were tried) of the last search of each slot."""
    return planner._slots.header[:, EXPANSIONS].copy(), planner._slots.header[:, TESTS].copy()
