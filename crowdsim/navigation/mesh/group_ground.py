"""The ground as the agents of a group may use it: the same polygons, some of them barred, some dearer.

Paths are searched on such a mesh and walked on the whole one: numbers of polygons and edges are the same. No
path leads into barred ground. There is no wall round it: bodies reach over its rim, as those of people on a
pavement do.
"""

from __future__ import annotations

import heapq
import math
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.lengths import dots, hypots
from crowdsim.kernels.held_pages import held_like
from crowdsim.navigation.mesh.build import parts_of
from crowdsim.navigation.mesh.mesh import NavMesh

NO_EDGE = -1
OFF_RIM_M = 0.05  # So far beyond the rim of barred ground paths off it are taken to end: more than rounding.


class GroupGround:
    """The ground of a group.

    Parameters
    ----------
    whole : NavMesh
        What agents walk on.
    barred : (np,) bool
        Polygons that no path leads into.
    price : (np,) float64, > 0
        What a metre costs in each polygon.

    Attributes
    ----------
    mesh : NavMesh
        What paths are searched on.
    priced : NavMesh
        The same without what is barred.
    """

    def __init__(self, whole: NavMesh, barred: NDArray[np.bool_], price: NDArray[np.float64]) -> None:
        self.whole, self.barred = whole, barred
        self.priced = whole._replace(polygon_pace=np.ascontiguousarray(whole.polygon_pace / price[:, None]))
        self.mesh = _parted(self.priced, barred)

    @property
    def is_barred(self) -> bool:
        """Whether paths are kept off some of it."""
        return bool(self.barred.any())

    @cached_property
    def passable(self) -> NavMesh:
        """What paths may lead over, on which metres cost what they do on the whole."""
        return _parted(self.whole, self.barred)

    def walks_off(
        self, position: NDArray[np.float64], polygon: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.int64], dict[int, list[int]]]:
        """Return where paths can begin for agents: where they are, or, on barred ground, where the shortest
        path off it ends.

        Parameters
        ----------
        position : (k, 2) float64, m
        polygon : (k,) int64

        Returns
        -------
        position : (k, 2) float64, m
        polygon : (k,) int64
        trails : dict of int to list of int
            For the rows that are on barred ground and can leave it: the half-edges from where the agent is to
            where the path begins.
        """
        position, polygon, trails = position.copy(), polygon.copy(), dict[int, list[int]]()
        for row in np.flatnonzero(self.barred[polygon]).tolist():
            left, after = self._edges_out
            trail, edge = list[int](), self._first_edge(int(polygon[row]), position[row], left)
            while edge != NO_EDGE:
                trail.append(edge)
                edge = int(after[edge])
            if trail:
                polygon[row] = here = self.whole.edge_polygon[self.whole.edge_twin[trail[-1]]]
                position[row] = self._inside(here, self._beyond(trail[-1], position[row]))
                trails[row] = trail
        return position, polygon, trails

    def _first_edge(self, polygon: int, place: NDArray[np.float64], left: NDArray[np.float64]) -> int:
        """Return the half-edge over which an agent at a place leaves a polygon on its path off barred
        ground.
        """
        edges = range(int(self.whole.polygon_start[polygon]), int(self.whole.polygon_start[polygon + 1]))
        length = [float(left[edge]) + math.dist(place, self._beyond(edge, place)) for edge in edges]
        best = int(np.argmin(length))
        return edges[best] if length[best] < math.inf else NO_EDGE

    def _beyond(self, edge: int, place: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the point of an edge that is nearest to a place (m), well inside its ends."""
        ends = self.whole.vertex[[self.whole.edge_vertex[edge], self.whole.edge_end[edge]], :2]
        along = ends[1] - ends[0]
        share = float(dots(place - ends[0], along) / dots(along, along))
        nearest: NDArray[np.float64] = ends[0] + min(max(share, 0.25), 0.75) * along
        return nearest

    def _inside(self, polygon: int, place: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return a point of a polygon that is a little farther in than one on its edge (m)."""
        edges = slice(int(self.whole.polygon_start[polygon]), int(self.whole.polygon_start[polygon + 1]))
        inwards = self.whole.vertex[self.whole.edge_vertex[edges], :2].mean(axis=0) - place
        return place + min(0.5, OFF_RIM_M / max(math.hypot(*inwards), OFF_RIM_M)) * inwards

    @cached_property
    def _edges_out(self) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        """For each half-edge out of a barred polygon how long the shortest path from its middle off barred
        ground is (m), over middles of edges, inf where there is none; and the next one on it, or `NO_EDGE`.
        """
        mesh = self.whole
        left = np.full(mesh.edge_count, np.inf)
        after = np.full(mesh.edge_count, NO_EDGE, dtype=np.int32)
        twin = np.maximum(mesh.edge_twin, 0)
        here, there = self.barred[mesh.edge_polygon], self.barred[mesh.edge_polygon[twin]]
        rim = np.flatnonzero((mesh.edge_twin >= 0) & here & ~there)
        ahead = [(0.0, edge, NO_EDGE) for edge in rim.tolist()]
        while ahead:
            length, edge, onward = heapq.heappop(ahead)
            if left[edge] < np.inf:
                continue
            left[edge], after[edge], polygon = length, onward, int(mesh.edge_polygon[edge])
            for other in range(int(mesh.polygon_start[polygon]), int(mesh.polygon_start[polygon + 1])):
                back = int(mesh.edge_twin[other])
                if back >= 0 and left[back] == np.inf and self.barred[mesh.edge_polygon[back]]:
                    step = mesh.portal_point[edge] - mesh.portal_point[other]
                    heapq.heappush(ahead, (length + float(hypots(step[0], step[1])), back, edge))
        return left, after


def _parted(mesh: NavMesh, barred: NDArray[np.bool_]) -> NavMesh:
    """Return a mesh without portals between barred ground and other ground; where they were, it ends without
    a wall.
    """
    side, twin = barred[mesh.edge_polygon], mesh.edge_twin
    is_cut = (twin >= 0) & (side != side[np.maximum(twin, 0)])
    if not is_cut.any():
        return mesh
    twin = np.where(is_cut, np.int32(-1), twin)
    clearance = mesh.vertex_clearance.copy()
    ends = np.unique(np.concatenate([mesh.edge_vertex[is_cut], mesh.edge_end[is_cut]]))
    free = ends[mesh.is_wall_vertex[ends] != 1]
    if len(free):  # else all vertices are ends of walls
        clearance[free] = np.inf
    parted = mesh._replace(
        edge_twin=twin,
        edge_width=np.where(is_cut, 0.0, mesh.edge_width),
        polygon_part=parts_of(mesh.edge_polygon, twin, mesh.polygon_count),
        vertex_clearance=clearance,
    )
    return held_like(mesh.vertex, parted)
