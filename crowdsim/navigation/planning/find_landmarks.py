"""Finding landmarks, and how far it is to them from all of the ground: a tree over the whole mesh each."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.lengths import hypots
from crowdsim.kernels.disk_cache import kept_arrays
from crowdsim.kernels.stored_arrays import Arrays
from crowdsim.kernels.threads import Team
from crowdsim.navigation.goals.goals import GoalPieces
from crowdsim.navigation.mesh.mesh import NavMesh
from crowdsim.navigation.planning.request_queue import RequestQueue
from crowdsim.navigation.planning.search_backends import FIELDS, NO_START, OptimalSearches
from crowdsim.navigation.search.landmarks import LEAST_POLYGONS, Landmarks, landmarks_of
from crowdsim.navigation.search.polyanya_slots import MOST_INTERVALS
from crowdsim.navigation.search.sharing import WHOLE

# Intervals of a tree over the whole mesh, for each half-edge: where there is room for less, none is tried.
LEAST_CONES = 16
AT_ONCE = 2  # Trees that grow side by side; more take more room.
# The last mesh and its landmarks: an obstacle that stood on it may go, and then it is the ground again.
_last: list[tuple[NavMesh, int, Landmarks | None]] = []


def find_landmarks(mesh: NavMesh, count: int, key: bytes = b"") -> Landmarks | None:
    """Return so many landmarks of a mesh, each as far as can be from those before it; None where they would
    spare nothing, or there is no room for the trees.

    They are in the largest part of the ground that hangs together; in the others searches go without. Where
    `key`, a hash of what the mesh was made of, is not empty, they are kept in the cache on disk.
    """
    if count == 0 or mesh.polygon_count < LEAST_POLYGONS or LEAST_CONES * mesh.edge_count > MOST_INTERVALS:
        return None
    if _last and _last[0][0] is mesh and _last[0][1] == count:
        return _last[0][2]

    def make() -> Arrays:
        return {"distance": distances_to_landmarks(mesh, count)}

    kept = kept_arrays("landmarks", __file__, [key, repr(count).encode()], make) if key else make()
    found = landmarks_of(mesh, np.array(kept["distance"])) if kept["distance"].shape[1] else None
    _last[:] = [(mesh, count, found)]
    return found


def distances_to_landmarks(mesh: NavMesh, count: int) -> NDArray[np.float64]:
    """Return how far (m) it is from where each half-edge begins to each landmark, (ne, count); (ne, 0) where
    there is no room for the trees.
    """
    corner = np.ascontiguousarray(mesh.vertex[mesh.edge_vertex, :2])
    middle = np.add.reduceat(corner, mesh.polygon_start[:-1]) / np.diff(mesh.polygon_start)[:, None]
    largest = mesh.polygon_part == np.argmax(np.bincount(mesh.polygon_part))
    here, trees = largest[mesh.edge_polygon], _Trees(mesh, corner)
    # the first tree is for no landmark: it tells where the ground is farthest from somewhere
    first = int(np.argmax(largest))
    begun = trees.lengths([first], middle[[first]])
    if begun is None:
        return np.zeros((mesh.edge_count, 0))
    away, nearest = begun[0], np.full(mesh.edge_count, np.inf)
    found = np.empty((count, mesh.edge_count))
    for done in range(0, count, AT_ONCE):
        polygons: list[int] = []
        for _ in range(min(AT_ONCE, count - done)):
            polygons.append(int(mesh.edge_polygon[np.argmax(np.where(here, away, -1.0))]))
            # as the crow flies, until its tree has grown
            away = np.minimum(away, hypots(*(corner - middle[polygons[-1]]).T))
        more = trees.lengths(polygons, middle[polygons])
        if more is None:
            return np.zeros((mesh.edge_count, 0))
        found[done : done + len(more)] = more
        for one in more:
            nearest = np.minimum(nearest, one)
        away = nearest
    return found.T


class _Trees:
    """Room in which trees over all of a mesh grow, `AT_ONCE` of them; `corner`, (ne, 2) m, is where its
    half-edges begin.
    """

    def __init__(self, mesh: NavMesh, corner: NDArray[np.float64]) -> None:
        self._mesh, self._corner = mesh, corner
        self._searches = OptimalSearches(mesh, _points([0], corner[:1]), AT_ONCE)
        self._queue = RequestQueue(FIELDS, 0, AT_ONCE, 1, 1, np.zeros((AT_ONCE, 0), dtype=np.int32))

    def lengths(self, polygons: list[int], places: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Return how far (m) it is for a point from each corner to places in some polygons, (k, ne); None
        where there is no room for the trees.
        """
        searches, count = self._searches, len(polygons)
        searches.take_goals(_points(polygons, places), np.arange(count))
        request = np.zeros(AT_ONCE, dtype=self._queue.record)
        request["polygon"], request["goal"][:count] = NO_START, np.arange(count)
        for name in ("priced_0", "priced_1", "priced_2", "priced_3"):
            request[name] = -1
        grows = np.arange(AT_ONCE) < count
        for slot in range(AT_ONCE):
            searches.forget(slot)
        team = Team(0)

        def serve(grant: int, begins: bool) -> None:
            granted = np.full(AT_ONCE, grant, dtype=np.int64)
            searches.serve(team, 0, self._queue.work_again(grows, granted, begins=begins, requests=request))

        try:
            serve(1, begins=True)
            searches.look_for_no_start(grows)
            serve(WHOLE, begins=False)
            while searches.make_room():
                serve(WHOLE, begins=False)
            found = searches.lengths(team, count, self._corner, self._mesh.edge_polygon)
        finally:
            team.close()
        if found is None:
            return None
        for slot, polygon in enumerate(polygons):
            own = self._mesh.edge_polygon == polygon
            found[slot, own] = hypots(*(self._corner[own] - places[slot]).T)
        return found


def _points(polygons: list[int], places: NDArray[np.float64]) -> GoalPieces:
    """Return goals that are points, (k, 2) m, of polygons."""
    count = len(polygons)
    numbers = np.arange(count, dtype=np.int32)
    ends = np.arange(count + 1, dtype=np.int32)
    return GoalPieces(
        ends,
        np.array(polygons, dtype=np.int32),
        numbers,
        ends.copy(),
        places.copy(),
        places.copy(),
        np.zeros(count),
        np.full(count, 0.1),
    )
