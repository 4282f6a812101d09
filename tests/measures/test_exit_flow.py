"""The width of an exit and the flow through it, by hand."""

import numpy as np
import pytest
import shapely

from crowdsim.measures.exit_flow import busiest_flow, exit_width

ROOM = shapely.box(0, 0, 10, 8)
DOOR = shapely.union_all([ROOM, shapely.box(5, -0.2, 6.2, 0)])  # an opening of 1.2 m in a wall of 0.2 m


@pytest.mark.parametrize(
    ("ground", "area", "width"),
    [
        (DOOR, shapely.box(5, -0.3, 6.2, -0.1), 1.2),  # in the opening
        (DOOR, shapely.box(4, -0.3, 7, 0.05), 3.0),  # reaches into the room on both sides of it
        (ROOM, shapely.box(9.5, 0, 10, 8), 8.0),  # along a whole wall
        # at a wall: as wide as along the wall, whichever way people go in
        (ROOM, shapely.box(9.5, 3, 12, 5), 2.0),
        (ROOM, shapely.box(4, 4, 5, 5), 4.0),  # stands free: from all sides
        # two corridors lead to it
        (
            shapely.union_all([ROOM, shapely.box(10, 0, 14, 2), shapely.box(10, 6, 14, 8)]),
            shapely.box(12, -1, 15, 9),
            4.0,
        ),
        (ROOM, shapely.box(20, 0, 21, 1), 0.0),  # nowhere near
    ],
)
def test_an_exit_is_as_wide_as_its_openings(ground, area, width):
    assert exit_width(ground, area) == pytest.approx(width, abs=5e-3)


def test_the_flow_is_that_of_the_busier_half():
    slow, quick = np.arange(0.0, 80.0, 2.0), 100.0 + np.arange(0.0, 20.0, 0.5)
    assert busiest_flow(np.concatenate([quick, slow])) == pytest.approx(2.0)  # 40 of 80 came at two a second
    assert busiest_flow(quick[:20]) == pytest.approx(2.0)


def test_fewer_than_twenty_make_no_flow():
    assert np.isnan(busiest_flow(np.arange(19.0))) and np.isnan(busiest_flow(np.zeros(30)))
