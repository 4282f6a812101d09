"""Costs of paths through areas that were measured before: where the ground of an area is the same to the last
bit, they are.

So when a tile changes, only its own areas are measured anew. Those of a large ground lie in the disk cache,
too (`AreaSearches`), for the next run on it. What is at hand depends on what was built before, and changes
nothing but the time: costs are a function of the ground of an area and of which of its gaps agents pass, over
centres of their width as well.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.navigation.hierarchy.nodes import AreaNodes
from crowdsim.navigation.mesh.mesh import NavMesh
from crowdsim.navigation.search.portal_points import PortalPoints
from crowdsim.saved import Arrays, Saved

# Bytes of costs that are kept, the last ones used: some twenty graphs of a city of 10 km.
MOST_BYTES = 512 << 20
KEY_BYTES = 16
# Layers of graphs of which costs are known later: those of the ground before are what a change asks for.
MOST_LATER = 16
WALL, BORDER = -1, -2  # In place of the twin of a half-edge.
# What makes the keys of areas, and their costs as in `AreaCosts`.
Later = tuple[Callable[[], list[bytes]], NDArray[np.int64], NDArray[np.float64]]


class KnownCosts:
    """Costs of areas by what their ground is.

    Parameters
    ----------
    most_bytes : int
        What is kept, at most.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most, self._bytes = most_bytes, 0
        self._costs: dict[bytes, NDArray[np.float64]] = {}
        self._later: list[Later] = []

    def note_later(
        self, keys: Callable[[], list[bytes]], start: NDArray[np.int64], cost: NDArray[np.float64]
    ) -> None:
        """Know the costs of a graph, see `AreaCosts`, as soon as some are asked for: `keys` makes the keys of
        its areas, some 0.3 s for a city of 10 km, and most graphs are never changed.
        """
        self._later = [*self._later, (keys, start, cost)][-MOST_LATER:]

    def _settle(self) -> None:
        """Know what was to be known later."""
        later, self._later = self._later, []
        for keys, start, cost in later:
            for area, key in enumerate(keys()):
                self[key] = cost[start[area] : start[area + 1]].copy()

    def __getitem__(self, key: bytes) -> NDArray[np.float64] | None:
        self._settle()
        found = self._costs.pop(key, None)
        if found is not None:
            self._costs[key] = found  # the last one used is the last to go
        return found

    def __setitem__(self, key: bytes, costs: NDArray[np.float64]) -> None:
        before = self._costs.pop(key, None)
        self._bytes += costs.nbytes - (0 if before is None else before.nbytes)
        self._costs[key] = costs
        while self._bytes > self._most:
            self._bytes -= self._costs.pop(next(iter(self._costs))).nbytes

    def as_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all that is known as named arrays, for a file (`numpy.savez`)."""
        self._settle()
        costs = list(self._costs.values())
        return {
            "key": np.frombuffer(b"".join(self._costs), dtype=np.uint8).reshape(-1, KEY_BYTES),
            "size": np.array([len(each) for each in costs], dtype=np.int64),
            "cost": np.concatenate([np.zeros(0), *costs]),
        }

    def add_arrays(self, state: Arrays | Saved) -> None:
        """Know what `as_arrays()` gave, too.

        Raises
        ------
        SavedError
            If something in it cannot be.
        """
        saved = Saved.of(state)
        keys = saved.take("key", "u1", (None, KEY_BYTES))
        cost = saved.take("cost", "f8", low=0.0, special="inf")
        size = saved.parts("size", len(keys), len(cost))
        for key, each in zip(keys, np.split(cost, np.cumsum(size)[:-1]), strict=True) if len(keys) else ():
            self[key.tobytes()] = each


def keys_of(mesh: NavMesh, points: PortalPoints, nodes: AreaNodes, width: float, *what: Any) -> list[bytes]:
    """Return a key of each area, the same for the same ground and for agents that pass the same gaps of it.

    Parameters
    ----------
    mesh : NavMesh
    points : PortalPoints
    nodes : AreaNodes
    width : float, m
        Of agents.
    what
        Numbers and words on which costs depend besides.
    """
    polygon = np.argsort(nodes.area, kind="stable")
    sides = np.diff(mesh.polygon_start)[polygon].astype(np.int64)
    edge = _runs(mesh.polygon_start[polygon], sides)
    pair = _runs(mesh.pair_start[polygon], sides * sides)
    point = _runs(points.start[edge], np.diff(points.start)[edge])
    area_start = np.searchsorted(nodes.area[polygon], np.arange(nodes.area_count + 1))
    edge_start = np.concatenate([[0], np.cumsum(sides)])[area_start]
    pair_start = np.concatenate([[0], np.cumsum(sides * sides)])[area_start]
    of_edge = np.diff(points.start)[edge]
    point_start = np.concatenate([[0], np.cumsum(of_edge)])[edge_start]
    # twins by their places in the area
    place = np.empty(mesh.edge_count, dtype=np.int64)
    place[edge] = np.arange(len(edge)) - np.repeat(edge_start[:-1], np.diff(edge_start))
    twin = np.where(mesh.edge_twin[edge] < 0, WALL, place[mesh.edge_twin[edge]])
    twin[nodes.is_border[edge] == 1] = BORDER
    parts = (
        (area_start, (sides, mesh.polygon_slope[polygon], mesh.polygon_pace[polygon])),
        (edge_start, (of_edge, twin, mesh.edge_width[edge])),
        (pair_start, (mesh.pair_width[pair],)),
        (point_start, (points.point[point], nodes.of_point[point] >= 0)),
    )
    # the narrowest gap of each area that they pass says which others they do
    narrowest = np.full(nodes.area_count, np.inf)
    for start, gap in ((edge_start, mesh.edge_width[edge]), (pair_start, mesh.pair_width[pair])):
        if nodes.area_count:
            passed = np.where(gap >= width, gap, np.inf)
            narrowest = np.minimum(narrowest, np.minimum.reduceat(passed, start[:-1]))
    common = repr(what).encode()
    return [
        hashlib.blake2b(
            b"".join(
                values[start[area] : start[area + 1]].tobytes() for start, each in parts for values in each
            )
            + narrowest[area].tobytes()
            + common,
            digest_size=KEY_BYTES,
        ).digest()
        for area in range(nodes.area_count)
    ]


def _runs(begin: NDArray[Any], size: NDArray[Any]) -> NDArray[np.int64]:
    """Return the numbers ``begin[i] .. begin[i] + size[i] - 1`` one after the other."""
    end = np.cumsum(size)
    total = int(end[-1]) if len(end) else 0
    return np.repeat(begin - end + size, size) + np.arange(total)
