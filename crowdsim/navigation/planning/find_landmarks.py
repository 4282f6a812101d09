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
    here = largest[mesh.edge_polygon]
    trees, polygon = _Trees(mesh, corner), int(np.argmax(largest))
    found: list[NDArray[np.float64]] = []
    nearest = trees.lengths(polygon, middle[polygon])
    while nearest is not None and len(found) < count:
        polygon = int(mesh.edge_polygon[np.argmax(np.where(here, nearest, -1.0))])
        one = trees.lengths(polygon, middle[polygon])
        if one is None:
            return np.zeros((mesh.edge_count, 0))
        nearest = np.minimum(nearest, one) if found else one
        found.append(one)
    return np.column_stack(found) if found else np.zeros((mesh.edge_count, 0))


class _Trees:
    """Room in which trees over all of a mesh grow, one after the other; `corner`, (ne, 2) m, is where its
    half-edges begin.
    """

    def __init__(self, mesh: NavMesh, corner: NDArray[np.float64]) -> None:
        self._mesh, self._corner = mesh, corner
        self._searches = OptimalSearches(mesh, _point(0, corner[0]), 1)
        self._queue = RequestQueue(FIELDS, 0, 1, 1, 1, np.zeros((1, 0), dtype=np.int32))

    def lengths(self, polygon: int, place: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Return how far (m) it is for a point from each corner to a place, (ne,); None where there is no
        room for the tree.
        """
        searches, request = self._searches, np.zeros(1, dtype=self._queue.record)
        searches.take_goals(_point(polygon, place), np.zeros(1, dtype=np.int64))
        searches.forget(0)
        request["polygon"] = NO_START
        for name in ("priced_0", "priced_1", "priced_2", "priced_3"):
            request[name] = -1
        every, alone = np.ones(1, dtype=np.bool_), Team(1)

        def serve(grant: int, begins: bool) -> None:
            granted = np.full(1, grant, dtype=np.int64)
            searches.serve(alone, 0, self._queue.work_again(every, granted, begins=begins, requests=request))

        serve(1, begins=True)
        searches.look_for_no_start(every)
        serve(WHOLE, begins=False)
        while searches.make_room():
            serve(WHOLE, begins=False)
        found = searches.lengths(0, self._corner, self._mesh.edge_polygon)
        if found is None:
            return None
        own = self._mesh.edge_polygon == polygon
        found[own] = hypots(*(self._corner[own] - place).T)
        return found


def _point(polygon: int, place: NDArray[np.float64]) -> GoalPieces:
    """Return a goal that is a point of a polygon."""
    return GoalPieces(
        np.array([0, 1], dtype=np.int32),
        np.array([polygon], dtype=np.int32),
        np.zeros(1, dtype=np.int32),
        np.array([0, 1], dtype=np.int32),
        place.reshape(1, 2).copy(),
        place.reshape(1, 2).copy(),
        np.zeros(1),
        np.full(1, 0.1),
    )
