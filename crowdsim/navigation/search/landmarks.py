"""What is left of a path at least, known from landmarks ([Goldberg 2005]).

How far it is to some places is worked out for all of a mesh before the first search. A path from p to s is at
least as long as the two differ in their distances to any of these places. On large ground with many walls
that says far more than the straight line: searches leave out ground that leads elsewhere.

Distances are those for points, and without walls that come later: so nothing is left out that a shortest path
of any agent could lead over. `optimal` has them for the vertices of the mesh, `mesh` for the points of
portals that its paths lead over: what a path over such points costs.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.lengths import hypots
from crowdsim.kernels.decorator import inlined_kernel, lean_kernel
from crowdsim.kernels.simd import choose, greatest, load, spread, store
from crowdsim.navigation.mesh.mesh import NavMesh
from crowdsim.tunable import param

# On ground of fewer polygons, or points of portals, a search is over before landmarks could spare anything.
LEAST_POLYGONS = LEAST_POINTS = 400
LANES = 16  # Landmarks that are compared at once.
# Of float32, relative to the longest distance: what eight roundings are off at most, and as much again.
ROUNDING = 2.0**-20


@dataclass(frozen=True)
class LandmarkParameters:
    """How many places there are to which distances are known."""

    landmarks: int = param(
        32,
        "",
        low=0,
        high=64,
        is_later=True,
        source="[Goldberg 2005]",
        why="places to which all distances are known before the run, on ground of 400 to 131,072 polygons "
        "(under mesh 400 to 1,048,576 points), while it is as at the beginning: more spare searches ground "
        "that leads elsewhere and take 4 bytes each for each corner of the ground (under mesh for each "
        "point); paths are as short with each number, 0 is none",
    )


class Landmarks(NamedTuple):
    """How far it is from places to landmarks.

    Attributes
    ----------
    distance : (n k,) float32, m
        k of each place, `LANES` of them or a multiple of it; nan where there are not so many landmarks, no
        path leads, or it is not known.
    each : (1,) int64
        k, or 0 without landmarks.
    slack : (1,) float64, m
        What rounding may have made of a difference of these.
    is_symmetric : (1,) uint8
        Whether paths cost the same in both directions.
    """

    distance: NDArray[np.float32]
    each: NDArray[np.int64]
    slack: NDArray[np.float64]
    is_symmetric: NDArray[np.uint8]


def pack_landmarks(mesh: NavMesh, distance: NDArray[np.float64], *, is_symmetric: bool = True) -> Landmarks:
    """Return landmarks by the distances (m) of places on a mesh to them, (n, k), inf or nan where they are
    not known.
    """
    count = distance.shape[1]
    each = -(-count // LANES) * LANES
    longest = float(hypots(*np.ptp(mesh.vertex[:, :2], axis=0)))
    made = np.full((len(distance), each), np.nan, dtype=np.float32)
    for landmark in range(count):  # all at once would take twice the memory
        away = distance[:, landmark]
        is_known = np.isfinite(away)
        made[is_known, landmark] = away[is_known]
        longest = max(longest, float(away[is_known].max(initial=0.0)))
    return Landmarks(
        made.reshape(-1),
        np.array([each]),
        np.array([ROUNDING * longest]),
        np.array([is_symmetric], dtype=np.uint8),
    )


def landmarks_of(mesh: NavMesh, distance: NDArray[np.float64]) -> Landmarks:
    """Return landmarks of vertices by the distances (m) from where the half-edges begin, in their polygons,
    (ne, k), inf where no path leads.
    """
    order = np.argsort(mesh.edge_vertex, kind="stable")
    vertex, first = np.unique(mesh.edge_vertex[order], return_index=True)
    of_vertex = np.full((len(mesh.vertex), distance.shape[1]), np.nan)
    for landmark, away in enumerate(distance.T):
        low, high = np.minimum.reduceat(away[order], first), np.maximum.reduceat(away[order], first)
        # Two parts of the ground may touch at a vertex: then it is farther on one side of it.
        is_known = high <= low * (1.0 + 0.25 * ROUNDING)
        of_vertex[vertex[is_known], landmark] = low[is_known]
    return pack_landmarks(mesh, of_vertex)


NO_LANDMARKS = Landmarks(
    np.zeros(0, dtype=np.float32), np.zeros(1, dtype=np.int64), np.zeros(1), np.ones(1, dtype=np.uint8)
)


@inlined_kernel
def note_distances(landmarks, span, mesh, polygon, x, y):
    """Note between what the distances of a place in a polygon to all landmarks lie, in `span`, (2 k,)
    float32, m: the polygon is convex, so that from the place one sees its vertices.
    """
    each = landmarks.each[0]
    for first in range(0, each, LANES):
        low, high = spread(np.float32(0.0)), spread(np.float32(np.inf))
        for edge in range(mesh.polygon_start[polygon], mesh.polygon_start[polygon + 1]):
            vertex = np.int64(mesh.edge_vertex[edge])
            dx, dy = mesh.vertex[vertex, 0] - x, mesh.vertex[vertex, 1] - y
            away = spread(np.float32(np.sqrt(dx * dx + dy * dy)))
            distance = load(landmarks.distance, np.uint64(vertex * each + first))
            least, most = distance - away, distance + away  # nan is neither more nor less
            low, high = choose(least > low, least, low), choose(most < high, most, high)
        store(span, np.uint64(first), low)
        store(span, np.uint64(each + first), high)


@inlined_kernel
def least_from_line(landmarks, span, a, b, length):
    """Return how long a path from anywhere on the line between vertices a and b, of some length (m), to the
    place of `note_distances` is at least; less than 0 where nothing is known.

    A point of that line is as far from a landmark as (a + b + the length) / 2 at most, if a and b are the
    distances of the ends, and (a + b - the length) / 2 at least.
    """
    each, half = landmarks.each[0], spread(np.float32(0.5))
    apart = spread(np.float32(0.0))
    for first in range(0, each, LANES):
        middle = half * (
            load(landmarks.distance, np.uint64(a * each + first))
            + load(landmarks.distance, np.uint64(b * each + first))
        )
        nearer = load(span, np.uint64(first)) - middle
        farther = middle - load(span, np.uint64(each + first))
        more = choose(nearer > farther, nearer, farther)
        apart = choose(more > apart, more, apart)
    return np.float64(greatest(apart)) - landmarks.slack[0] - 0.5 * length


@lean_kernel
def least_from_place(landmarks, span, place):
    """Return how long a path from one of the places with distances to that whose distances lie in `span`, see
    `note_distances`, is at least; less than 0 where nothing is known.
    """
    each, apart = landmarks.each[0], spread(np.float32(0.0))
    for first in range(0, each, LANES):
        distance = load(landmarks.distance, np.uint64(place * each + first))
        nearer, farther = (
            load(span, np.uint64(first)) - distance,
            distance - load(span, np.uint64(each + first)),
        )
        more = choose(nearer > farther, nearer, farther)
        apart = choose(more > apart, more, apart)
    return np.float64(greatest(apart)) - landmarks.slack[0]
