"""Every number of the table of [Pathfinding undated] has its default and an effect."""

import numpy as np
import pytest
import shapely

from crowdsim.kernels.threads import Team
from crowdsim.navigation.grid.files import grid_from_json, grid_from_text, grid_to_text
from crowdsim.navigation.grid.grid import Area, build_grid
from crowdsim.navigation.grid.parameters import GridParameters, PathParameters, WalkParameters
from crowdsim.navigation.grid.planner import GridPlanner
from tests.navigation.grid.worlds import cells_of, grid_of

ROOM, TABLE = Area("room", shapely.box(0, 0, 10, 8)), shapely.box(4, 3, 5, 4)


def test_defaults_are_those_of_the_document():
    grid, path, walk = GridParameters(), PathParameters(), WalkParameters()
    assert (
        grid.cell_size,
        grid.agent_radius,
        grid.object_padding,
        grid.boundary_padding,
        grid.floor_height,
    ) == (0.4, 0.45, 0.25, 0.0, 0.0)
    assert (path.snap_distance, path.first_waypoint_trim, path.sight_step) == (8.0, 0.75, 0.5)
    assert (path.obstacle_reach, path.obstacle_radius_share) == (6.0, 0.6)
    assert (walk.waypoint_reached, walk.same_target) == (0.05, 0.25)


@pytest.mark.parametrize(
    ("name", "value", "fewer"),
    [
        ("agent_radius", 0.9, True),
        ("object_padding", 0.6, True),
        ("boundary_padding", 0.5, True),
        ("cell_size", 0.2, False),
    ],
)
def test_numbers_of_the_grid_change_its_cells(name, value, fewer):
    usual = int(build_grid([ROOM], [TABLE]).walkable().sum())
    changed = int(build_grid([ROOM], [TABLE], GridParameters(**{name: value})).walkable().sum())
    assert changed < usual if fewer else changed > usual


def test_the_widest_radius_limits_requests():
    grid = build_grid([ROOM], [TABLE], GridParameters(widest_body=2.0))
    assert len(cells_of(grid, 2.0)) < len(cells_of(grid, 1.0))


def test_the_height_of_the_floor_is_kept_in_files():
    text = grid_to_text(build_grid([ROOM], parameters=GridParameters(floor_height=3.5)))
    assert "floorY 3.5\n" in text and grid_from_text(text).parameters.floor_height == 3.5
    assert (
        grid_from_json(
            '{"floorY": 2, "areas": [{"polygon": [[0, 0], [3, 0], [3, 3]]}]}'
        ).parameters.floor_height
        == 2.0
    )


def ask(grid, start, end, stationary=None, **parameters):
    """The answer to one request."""
    planner = GridPlanner(grid, np.array([end]), PathParameters(**parameters))
    if stationary is not None:
        planner.stand(np.array([9]), np.array([stationary[:2]]), np.array(stationary[2:]))
    planner.submit(
        0, np.array([1]), np.array([start]), np.array([-1]), np.array([0], dtype=np.int32), np.array([0.0])
    )
    return planner.advance(1 << 40, Team(1))[0]


OPEN = "\n".join(["...................."] * 20)
CORNER = "....\n....\n..#.\n...."


def test_the_snap_distance_says_how_far_off_a_target_may_lie():
    grid = grid_of("....", cell=0.5)
    assert ask(grid, (0.25, 0.25), (7.0, 0.25)).status[0] == 2
    assert ask(grid, (0.25, 0.25), (7.0, 0.25), snap_distance=4.0).status[0] == 4


def test_the_trim_says_when_the_first_waypoint_is_left_out():
    start, end = (0.9, 2.9), (3.2, 0.7)
    grid = grid_of("....\n.##.\n....")
    assert (
        len(ask(grid, start, end, first_waypoint_trim=0.1).waypoint)
        == len(ask(grid, start, end).waypoint) + 1
    )


def test_sight_may_be_sampled_and_by_other_steps():
    grid = grid_of(CORNER)
    exact, sampled, fine = (
        ask(grid, (0.55, 0.5), (3.05, 3.0), **p)
        for p in ({}, {"sight": "sampled"}, {"sight": "sampled", "sight_step": 0.05})
    )
    assert len(exact.waypoint) > 1 and len(fine.waypoint) > 1 and len(sampled.waypoint) == 1


def test_standing_agents_count_within_their_reach_of_the_line():
    """It stands 5.65 m from the line and blocks 7.2 m around itself."""
    grid, start, end, stationary = grid_of(OPEN, cell=0.5), (0.25, 4.25), (9.75, 4.25), (5.0, 9.9, 12.0)
    assert ask(grid, start, end, stationary).length[0] > 9.6
    assert ask(grid, start, end, stationary, obstacle_reach=5.5).length[0] == 9.5


def test_the_share_of_the_collision_radius_decides_how_wide_an_agent_is_walked_round():
    grid = grid_of(OPEN, cell=0.5)
    start, end, stationary = (0.25, 5.25), (9.75, 5.25), (5.0, 5.25, 2.0)
    lengths = [
        ask(grid, start, end, stationary, obstacle_radius_share=share).length[0] for share in (0.3, 0.6, 1.0)
    ]
    assert 9.5 < lengths[0] < lengths[1] < lengths[2]
