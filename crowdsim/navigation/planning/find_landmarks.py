"""Finding landmarks, and how far it is to them from all of the ground: a tree over the whole mesh each."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import closing

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.lengths import hypots
from crowdsim.kernels.disk_cache import kept_arrays
from crowdsim.kernels.stored_arrays import Arrays
from crowdsim.kernels.threads import Team
from crowdsim.navigation.goals.goals import GoalPieces
from crowdsim.navigation.mesh.mesh import NavMesh
from crowdsim.navigation.planning.request_queue import RequestQueue
from crowdsim.navigation.planning.search_backends import (
    FIELDS,
    NO_START,
    MiddleSearches,
    OptimalSearches,
    Searches,
)
from crowdsim.navigation.search.landmarks import (
    LEAST_POINTS,
    LEAST_POLYGONS,
    Landmarks,
    landmarks_of,
    pack_landmarks,
)
from crowdsim.navigation.search.portal_points import PortalPoints
from crowdsim.navigation.search.sharing import WHOLE

# Polygons, and points of portals: with so many landmarks are found in 10 to 20 s, before the first tick.
MOST_POLYGONS, MOST_POINTS = 1 << 17, 1 << 20
AT_ONCE = 2  # Trees that grow side by side; more take more room.
# The last mesh and its landmarks: an obstacle that stood on it may go, or a door that was shut open, and then
# it is the ground again.
_last: list[tuple[NavMesh, dict[tuple[object, ...], Landmarks]]] = []
_listeners: list[Callable[[int, int], None]] = []


def on_progress(listener: Callable[[int, int], None]) -> Callable[[], None]:
    """Call `listener(done, all)` while landmarks are looked for, until the returned function is called: that
    takes seconds on large ground.
    """
    _listeners.append(listener)
    return lambda: _listeners.remove(listener)


def find_landmarks(mesh: NavMesh, count: int, key: bytes = b"") -> Landmarks | None:
    """Return so many landmarks of the vertices of a mesh, each as far as can be from those before it; None
    where they would spare nothing, or be long in coming.

    They are in the largest part of the ground that hangs together; in the others searches go without. Where
    `key`, a hash of what the mesh was made of, is not empty, they are kept in the cache on disk.
    """
    if count == 0 or not LEAST_POLYGONS <= mesh.polygon_count <= MOST_POLYGONS:
        return None

    def make() -> Landmarks:
        return landmarks_of(mesh, distances_to_landmarks(mesh, count))

    return _known(mesh, ("vertices", count), key, make)


def find_point_landmarks(
    mesh: NavMesh, points: PortalPoints, costs: str, count: int, key: bytes = b""
) -> Landmarks | None:
    """Return so many landmarks of the points of the portals of a mesh, as `find_landmarks` does; `costs` as
    for `MiddleSearches.price`.
    """
    if count == 0 or not LEAST_POINTS <= len(points.edge) <= MOST_POINTS:
        return None

    def make() -> Landmarks:
        searches = MiddleSearches(mesh, _points([0], mesh.vertex[:1, :2]), AT_ONCE, points)
        searches.price(costs)
        cost = _costs_to_landmarks(searches, count)
        return pack_landmarks(mesh, cost, is_symmetric=searches.is_symmetric)

    at = hashlib.blake2b(points.edge.tobytes() + points.point.tobytes(), digest_size=16).hexdigest()
    return _known(mesh, ("points", at, costs, count), key, make)


def _known(mesh: NavMesh, what: tuple[object, ...], key: bytes, make: Callable[[], Landmarks]) -> Landmarks:
    """Return landmarks that are known from before, or are made now."""
    if not _last or _last[0][0] is not mesh:
        _last[:] = [(mesh, {})]
    known = _last[0][1]
    if what not in known:

        def arrays() -> Arrays:
            return make()._asdict()

        kept = kept_arrays("landmarks", __file__, [key, repr(what).encode()], arrays) if key else arrays()
        known[what] = Landmarks(*(np.array(kept[name]) for name in Landmarks._fields))
    return known[what]


def distances_to_landmarks(mesh: NavMesh, count: int) -> NDArray[np.float64]:
    """Return how far (m) it is from where each half-edge begins to each landmark, (ne, count)."""
    corner = np.ascontiguousarray(mesh.vertex[mesh.edge_vertex, :2])
    searches = OptimalSearches(mesh, _points([0], corner[:1]), AT_ONCE)

    def lengths(polygons: list[int], places: NDArray[np.float64]) -> NDArray[np.float64]:
        found = np.full((len(polygons), mesh.edge_count), np.inf)
        noted = np.zeros(len(polygons), dtype=np.int64)
        with closing(Team(0)) as team:
            _grow(searches, team, polygons, places, lambda: searches.make_room_in_floods(team, noted, found))
            searches.end_floods(team, noted, found)
        for slot, polygon in enumerate(polygons):
            own = mesh.edge_polygon == polygon
            found[slot, own] = hypots(*(corner[own] - places[slot]).T)
        return found

    return _far_apart(mesh, corner, mesh.edge_polygon, count, lengths)


def _costs_to_landmarks(searches: MiddleSearches, count: int) -> NDArray[np.float64]:
    """Return what paths from the points of searches cost (m) to each landmark, (n, count)."""
    mesh, points = searches.mesh, searches.points

    def costs(polygons: list[int], places: NDArray[np.float64]) -> NDArray[np.float64]:
        with closing(Team(0)) as team:
            _grow(searches, team, polygons, places, searches.make_room)
        return searches.costs(len(polygons))

    return _far_apart(mesh, points.point, mesh.edge_polygon[points.edge], count, costs)


def _far_apart(
    mesh: NavMesh,
    position: NDArray[np.float64],
    polygon: NDArray[np.int32],
    count: int,
    distances: Callable[[list[int], NDArray[np.float64]], NDArray[np.float64]],
) -> NDArray[np.float64]:
    """Return how far it is from places, (n, 2) m in polygons, (n,), to landmarks as far apart as can be,
    (n, count).

    `distances` returns that to the middles, (k, 2) m, of some polygons, (k, n).
    """
    corner = mesh.vertex[mesh.edge_vertex, :2]
    middle = np.add.reduceat(corner, mesh.polygon_start[:-1]) / np.diff(mesh.polygon_start)[:, None]
    largest = mesh.polygon_part == np.argmax(np.bincount(mesh.polygon_part))
    here = largest[polygon]
    # the first tree is for no landmark: it tells where the ground is farthest from somewhere
    first = int(np.argmax(largest))
    away, nearest = distances([first], middle[[first]])[0], np.full(len(polygon), np.inf)
    found = np.empty((count, len(polygon)))
    for done in range(0, count, AT_ONCE):
        for listener in tuple(_listeners):
            listener(done, count)
        polygons: list[int] = []
        for _ in range(min(AT_ONCE, count - done)):
            farthest = int(np.argmax(np.where(here & np.isfinite(away), away, -1.0)))
            polygons.append(int(polygon[farthest]))
            # as the crow flies, until its tree has grown
            away = np.minimum(away, hypots(*(position - middle[polygons[-1]]).T))
        more = distances(polygons, middle[polygons])
        found[done : done + len(more)] = more
        for one in more:
            nearest = np.minimum(nearest, one)
        away = nearest
    return found.T


def _grow(
    searches: Searches,
    team: Team,
    polygons: list[int],
    places: NDArray[np.float64],
    make_room: Callable[[], bool],
) -> None:
    """Let trees grow over all of the mesh to places in some polygons, in the first of the slots."""
    count = len(polygons)
    searches.take_goals(_points(polygons, places), np.arange(count))
    queue = RequestQueue(FIELDS, 0, AT_ONCE, 1, 1, np.zeros((AT_ONCE, 0), dtype=np.int32))
    request = np.zeros(AT_ONCE, dtype=queue.record)
    request["polygon"], request["goal"][:count] = NO_START, np.arange(count)
    for name in ("priced_0", "priced_1", "priced_2", "priced_3"):
        request[name] = -1
    grows = np.arange(AT_ONCE) < count
    for slot in range(AT_ONCE):
        searches.forget(slot)

    def serve(grant: int, begins: bool) -> None:
        granted = np.full(AT_ONCE, grant, dtype=np.int64)
        searches.serve(team, 0, queue.work_again(grows, granted, begins=begins, requests=request))

    serve(1, begins=True)
    searches.look_for_no_start(grows)
    serve(WHOLE, begins=False)
    while make_room():
        serve(WHOLE, begins=False)


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
