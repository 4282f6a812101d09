"""What is left of a path at least, known from landmarks ([Goldberg 2005]).

How far it is to some places is worked out for every vertex of the mesh before the first search. A path from p
to s is at least as long as the two differ in their distances to any of these places. On large ground with
many walls that says far more than the straight line: searches leave out ground that leads elsewhere.

Lengths are those for points, and without walls that come later: so nothing is left out that a shortest path
of any agent could lead over.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.kernels.decorator import inlined_kernel
from crowdsim.navigation.mesh.mesh import NavMesh
from crowdsim.tunable import param

# On ground of fewer polygons a search is over before landmarks could spare anything.
LEAST_POLYGONS = 400
UNKNOWN = -1.0  # In place of a distance.
ROUNDING = 2.0**-22  # Of float32, relative; four times what it is at most.


@dataclass(frozen=True)
class LandmarkParameters:
    """How many places there are to which distances are known."""

    landmarks: int = param(
        16,
        "",
        low=0,
        high=64,
        is_later=True,
        source="[Goldberg 2005]",
        why="places to which all distances are known before the run, on ground of 400 polygons and more that "
        "stays as it is: more spare searches ground that leads elsewhere and take 8 bytes each for each side "
        "of a polygon; paths are as short with each number, 0 is none",
    )


class Landmarks(NamedTuple):
    """How far it is to landmarks.

    Attributes
    ----------
    distance : (ne, k) float32, m
        From where each half-edge begins, in its polygon, to each landmark; inf where no path leads.
    middle : (ne, k) float32, m
        The mean of both ends of each half-edge; UNKNOWN where no path leads.
    slack : (k,) float64, m
        What rounding may have made of these.
    """

    distance: NDArray[np.float32]
    middle: NDArray[np.float32]
    slack: NDArray[np.float64]


def landmarks_of(mesh: NavMesh, distance: NDArray[np.float64]) -> Landmarks:
    """Return landmarks by the distances (m) from where the half-edges begin, (ne, k), inf where no path
    leads.
    """
    after = np.arange(mesh.edge_count) + 1
    after[mesh.polygon_start[1:] - 1] = mesh.polygon_start[:-1]
    middle = 0.5 * (distance + distance[after])
    middle[~np.isfinite(middle)] = UNKNOWN
    slack = ROUNDING * middle.max(axis=0, initial=0.0)
    return Landmarks(distance.astype(np.float32), np.ascontiguousarray(middle, dtype=np.float32), slack)


def no_landmarks(mesh: NavMesh) -> Landmarks:
    """Return none."""
    return landmarks_of(mesh, np.zeros((mesh.edge_count, 0)))


@inlined_kernel
def note_distances(landmarks, span, mesh, polygon, x, y):
    """Note between what the distances of a place in a polygon to all landmarks lie, in `span`, (2 k,) m: the
    polygon is convex, so that from the place one sees its vertices.
    """
    for k in range(landmarks.slack.size):
        low, high = 0.0, np.inf
        for edge in range(mesh.polygon_start[polygon], mesh.polygon_start[polygon + 1]):
            vertex = mesh.edge_vertex[edge]
            dx, dy = mesh.vertex[vertex, 0] - x, mesh.vertex[vertex, 1] - y
            away, distance = np.sqrt(dx * dx + dy * dy), np.float64(landmarks.distance[edge, k])
            if distance < np.inf:
                low, high = max(low, distance - away), min(high, distance + away)
        span[2 * k], span[2 * k + 1] = low - landmarks.slack[k], high + landmarks.slack[k]


@inlined_kernel
def least_from_edge(landmarks, span, edge, length):
    """Return how long a path from anywhere on an edge of some length (m) to the place of `note_distances` is
    at least; less than 0 where nothing is known.

    A point p of the edge ab is as far from a landmark as (a + b + the length) / 2 at most, if a and b are the
    distances of the ends, and (a + b - the length) / 2 at least.
    """
    apart = 0.0
    for k in range(landmarks.slack.size):
        middle = np.float64(landmarks.middle[edge, k])
        if middle >= 0.0:
            apart = max(apart, max(span[2 * k] - middle, middle - span[2 * k + 1]))
    return apart - 0.5 * length
