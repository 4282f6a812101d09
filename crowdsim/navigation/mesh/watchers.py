"""Points from which one sees: where they are on the ground."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.errors import NavigationError
from crowdsim.navigation.mesh.mesh import NavMesh, locate, locate_at_height


class Watchers(NamedTuple):
    """Points from which one sees.

    Attributes
    ----------
    polygon : (w,) int64
        Under each.
    place : (w, 2) float64, m
    """

    polygon: NDArray[np.int64]
    place: NDArray[np.float64]

    def beside(self, others: Watchers) -> Watchers:
        """Return these and others."""
        return Watchers(
            np.concatenate([self.polygon, others.polygon]), np.concatenate([self.place, others.place])
        )


NO_WATCHERS = Watchers(np.zeros(0, dtype=np.int64), np.zeros((0, 2)))


def place_watchers(
    mesh: NavMesh, points: Sequence[tuple[float, ...]], first: NavMesh | None = None
) -> Watchers:
    """Return watchers at points.

    Parameters
    ----------
    mesh : NavMesh
    points : sequence of (x, y) or (x, y, z), m
        The floor of one with a height is the one that is nearest to that there. It sees, in plan, what a
        straight line leads to over ground that is joined.
    first : NavMesh, optional
        The mesh at the beginning, where this is another. Watchers stay on the floors that they were on, and
        one off the ground sees nothing: it was taken out, or closed, under it.

    Raises
    ------
    NavigationError
        If a watcher stands off the ground at the beginning.
    """
    polygons, places = list[int](), list[tuple[float, float]]()
    for point in points:
        polygon = polygon_under(mesh if first is None else first, point)
        if polygon < 0:
            raise NavigationError(
                f"the watcher at ({', '.join(f'{each:g}' for each in point)}) stands off the ground; move "
                "it onto walkable ground"
            )
        if first is not None:
            layer = int(first.polygon_layer[polygon])
            polygon = int(locate(mesh, float(point[0]), float(point[1]), layer))
        if polygon >= 0:
            polygons.append(polygon)
            places.append((float(point[0]), float(point[1])))
    return Watchers(np.array(polygons, dtype=np.int64), np.array(places).reshape(-1, 2))


def polygon_under(mesh: NavMesh, place: tuple[float, ...]) -> int:
    """Return the polygon under a point (x, y) or (x, y, z); -1 where there is none."""
    x, y = float(place[0]), float(place[1])
    return int(locate_at_height(mesh, x, y, float(place[2])) if len(place) > 2 else locate(mesh, x, y, -1))
