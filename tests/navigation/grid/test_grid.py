"""Cells are walkable exactly where an agent fits, for every radius, and follow areas that open and close."""

import math

import numpy as np
import pytest
import shapely

from crowdsim.errors import NavigationError
from crowdsim.navigation.grid.grid import Area, Grid, build_grid, edges_of
from crowdsim.navigation.grid.parameters import GridParameters
from tests.navigation.grid.worlds import cells_of, centre
from tests.reference.grid_cells import clearance_of

UTM = (412_345.25, 5_712_345.5)


def random_plan(seed, offset=(0.0, 0.0)):
    """Areas, some closed, that overlap; obstacles, convex, concave and with a hole."""
    rng = np.random.default_rng(seed)

    def blob(size):
        x, y = rng.uniform(0.0, 8.0, 2) + offset
        angles = np.sort(rng.uniform(0.0, 2.0 * math.pi, rng.integers(3, 9)))
        reach = rng.uniform(0.3, 1.0, len(angles)) * size
        return shapely.Polygon(np.column_stack([x + reach * np.cos(angles), y + reach * np.sin(angles)]))

    areas = [Area(f"area {i}", blob(5.0), bool(rng.uniform() < 0.7)) for i in range(5)]
    hole = shapely.box(*(np.array([3.0, 3.0, 5.0, 5.0]) + [*offset, *offset])) - shapely.box(
        *(np.array([3.5, 3.5, 4.5, 4.5]) + [*offset, *offset])
    )
    return areas, [*(blob(1.5) for _ in range(4)), hole]


@pytest.mark.sample(6)
@pytest.mark.parametrize("offset", [(0.0, 0.0), UTM], ids=["", "at map coordinates"])
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("padding", [0.0, 0.3])
def test_clearance_agrees_with_the_definition(seed, padding, offset):
    areas, obstacles = random_plan(seed, offset)
    grid = build_grid(
        areas, obstacles, GridParameters(cell_size=0.37, boundary_padding=padding, widest_body=0.9)
    )
    outlines = [edges_of(area.polygon).tolist() for area in areas if area.is_available]
    blocked = [edges_of(obstacle).tolist() for obstacle in obstacles]
    held = 0
    for cell in np.ndindex(grid.depth, grid.width):
        want = clearance_of(outlines, blocked, padding, *centre(grid, cell[::-1]))
        got = grid.clearance[cell]
        held += got >= 0.0
        if want > grid.reach:
            assert got == math.inf
        else:
            assert got == pytest.approx(want, abs=1e-6)
    assert held > 50


def test_bounds_are_those_of_all_areas_and_the_margin_of_the_document():
    areas = [Area("a", shapely.box(0, 0, 4, 4)), Area("closed", shapely.box(4, 1, 8, 3), False)]
    grid = build_grid(areas)
    margin = 2 * 0.4 + 0.45 + 0.25
    assert (grid.x, grid.y) == (-margin, -margin)
    assert grid.width == math.ceil((8 + 2 * margin) / 0.4) and grid.depth == math.ceil(
        round((4 + 2 * margin) / 0.4, 9)
    )


def test_a_cell_is_blocked_at_exactly_the_distance_that_an_agent_needs():
    """Centres at 0.2, 0.6, 1.0 ... m from a wall:
    0.45 + 0.15 m is within reach, so the second row is blocked.
    """
    grid = build_grid(
        [Area("a", shapely.box(0, 0, 4, 4))],
        [shapely.box(0, -1, 4, 0)],
        GridParameters(object_padding=0.15, agent_radius=0.45),
    )
    grid_y = [
        round(grid.y + (row + 0.5) * 0.4, 6) for row in np.flatnonzero(grid.walkable()[:, grid.width // 2])
    ]
    assert min(grid_y) > 0.6


@pytest.mark.parametrize("radius", [0.0, 0.2, 0.45, 0.8])
def test_one_grid_answers_for_every_radius_like_a_grid_made_for_it(radius):
    areas, obstacles = random_plan(4)
    one = build_grid(areas, obstacles, GridParameters(agent_radius=0.5))
    own = Grid(GridParameters(agent_radius=radius), one.x, one.y, one.width, one.depth)
    for area in areas:
        own.add_area(area)
    for obstacle in obstacles:
        own.add_obstacle(obstacle)
    np.testing.assert_array_equal(one.walkable(radius), own.walkable())


@pytest.mark.parametrize("seed", range(10))
def test_opening_and_closing_areas_equals_building_anew(seed):
    areas, obstacles = random_plan(seed)
    rng = np.random.default_rng(seed)
    parameters = GridParameters(boundary_padding=0.2 * (seed % 2))
    grid = build_grid(areas, obstacles, parameters)
    state = {area.name: area.is_available for area in areas}
    for _ in range(20):
        name, available = f"area {rng.integers(5)}", bool(rng.integers(2))
        version = grid.version
        assert (
            grid.set_area_available(name, available)
            == (state[name] != available)
            == (grid.version != version)
        )
        state[name] = available
        anew = build_grid(
            [Area(area.name, area.polygon, state[area.name]) for area in areas], obstacles, parameters
        )
        np.testing.assert_array_equal(grid.clearance, anew.clearance)
        assert [area.is_available for area in grid.areas.values()] == list(state.values())


def test_a_door_between_two_rooms_opens_and_closes_the_cells_of_its_own():
    rooms = [
        Area("left", shapely.box(0, 0, 4, 4)),
        Area("right", shapely.box(5, 0, 9, 4)),
        Area("door", shapely.box(4, 1, 5, 3), False),
    ]
    grid = build_grid(rooms)
    closed = cells_of(grid, 0.2)
    grid.set_area_available("door", True)
    fresh = cells_of(grid, 0.2) - closed
    assert fresh and all(
        4 <= centre(grid, cell)[0] <= 5 and 1 <= centre(grid, cell)[1] <= 3 for cell in fresh
    )
    grid.set_area_available("door", False)
    assert cells_of(grid, 0.2) == closed


def test_areas_that_share_an_edge_hold_each_cell_once():
    """Centres lie exactly on the shared edge."""
    parameters = GridParameters(cell_size=1.0, agent_radius=0.25, object_padding=0.25)
    grid = build_grid(
        [Area("a", shapely.box(0, 0, 3, 3)), Area("b", shapely.box(3, 0, 6, 3))], (), parameters
    )
    assert grid.x == -2.5
    open_both = cells_of(grid)
    assert len(open_both) == 18 + 3 * 1 - 3
    grid.set_area_available("b", False)
    only_a = cells_of(grid)
    grid.set_area_available("b", True)
    grid.set_area_available("a", False)
    assert only_a.isdisjoint(cells_of(grid)) and only_a | cells_of(grid) == open_both


def test_walls_without_thickness_keep_agents_off_and_open_boundary_does_not():
    room = shapely.box(0, 0, 8, 4)
    walls = np.array([[0.0, 0.0, 8.0, 0.0], [8.0, 4.0, 0.0, 4.0], [0.0, 4.0, 0.0, 0.0]])
    grid = build_grid([Area("room", room)], (), GridParameters(object_padding=0.0), walls=walls)
    xs, ys = zip(*(centre(grid, cell) for cell in cells_of(grid, 0.5)))
    assert min(xs) > 0.5 and max(xs) > 7.6 and min(ys) > 0.5 and max(ys) < 3.5


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: build_grid([]), "at least one area"),
        (
            lambda: build_grid([Area("a", shapely.box(0, 0, 1, 1)), Area("a", shapely.box(0, 0, 2, 2))]),
            'Two areas have the name "a"',
        ),
        (lambda: build_grid([Area("a", shapely.box(0, 0, 1e5, 1e5))]), "Make cell_size larger"),
        (
            lambda: build_grid([Area("a", shapely.box(0, 0, 1, 1))], (), GridParameters(cell_size=0.0)),
            "cell_size: 0 m is outside",
        ),
        (
            lambda: build_grid([Area("a", shapely.box(0, 0, 1, 1))]).set_area_available("b", True),
            'no area "b"',
        ),
        (lambda: build_grid([Area("a", shapely.box(0, 0, 1, 1))]).need(1.5), "larger widest_body"),
        (lambda: build_grid([Area("a", shapely.box(0, 0, 1, 1))]).need(math.nan), "radius nan"),
    ],
)
def test_mistakes_are_named(make, says):
    with pytest.raises(NavigationError, match=says):
        make()


def test_clearance_cannot_be_written_from_outside():
    grid = build_grid([Area("a", shapely.box(0, 0, 1, 1))])
    with pytest.raises(ValueError, match="read-only"):
        grid.clearance[0, 0] = 1.0
