"""Floors of several kinds for the tests of this folder."""

import numpy as np
import shapely
from shapely import affinity

from crowdsim.geometry.floor_plans import FloorPlan, Join, Plane
from crowdsim.navigation.mesh.build import MeshParameters
from crowdsim.navigation.mesh.floors import build_floors

RISE, RUN = 3.0, 4.8
STEEPNESS = RISE / RUN  # 32 degrees


def two_storeys(turn=0.0, offset=(0.0, 0.0), cells="polygons"):
    """A stair of 2 m from a ground floor with a room under it up to a floor above;
    turned about the origin by degrees, then moved.
    """

    def moved(shape):
        return affinity.translate(affinity.rotate(shape, turn, origin=(0, 0)), *offset)

    def line(a, b):
        return tuple(map(tuple, shapely.get_coordinates(moved(shapely.LineString([a, b]))).tolist()))

    top = 10.0 + RUN
    ground = shapely.box(0, 0, 30, 10) - shapely.box(10, 4, 10.0 + 2.0 / STEEPNESS, 6)
    upper = (
        shapely.box(0, 0, 30, 10)
        - shapely.box(10.0 + 1.0 / STEEPNESS, 4, top, 6)
        - shapely.box(20, 0, 20.2, 8)
    )
    foot, head = line((10, 4), (10, 6)), line((top, 4), (top, 6))
    place = (*foot[0], 0.0)
    along = np.subtract(head[0], foot[0]) / RUN
    floors = [
        FloorPlan("ground", moved(ground), Plane((0.0, 0.0, 0.0))),
        FloorPlan("upper", moved(upper), Plane((0.0, 0.0, RISE))),
        FloorPlan(
            "stair",
            moved(shapely.box(10, 4, top, 6)),
            Plane(place, tuple((STEEPNESS * along).tolist())),
            (0.5, 0.75),
        ),
    ]
    joins = [Join((0, 2), foot, 0.0), Join((1, 2), head, RISE)]
    return floors, joins, build_floors(floors, joins, parameters=MeshParameters(faces=cells), wall_reach=4.0)
