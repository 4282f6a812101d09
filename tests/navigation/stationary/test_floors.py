"""A stationary agent on another floor, or behind a wall, is in no agent's way."""

import numpy as np
import pytest
import shapely

from crowdsim.kernels.threads import Team
from crowdsim.navigation.goals.goals import GoalShape, cut_goals
from crowdsim.navigation.mesh.build import build_mesh
from crowdsim.navigation.planning.mesh_planner import MeshPlanner
from crowdsim.navigation.search.round_stationary import StationaryParameters
from crowdsim.navigation.search.slot_fields import FOUND, FOUND_THROUGH_AGENTS
from crowdsim.navigation.stationary.planner import StationaryPlanner
from tests.navigation.floors import two_storeys
from tests.navigation.worlds import located

GROUND, UPPER = 0, 1


def answer_to(mesh, goals, start, polygon, stationary, under, radius=0.9):
    """Return the answer to an agent of 0.2 m while another stands somewhere,
    and whether its path is another one for that.
    """
    plain, planner = (
        MeshPlanner(mesh, goals),
        StationaryPlanner(MeshPlanner(mesh, goals), mesh, goals, StationaryParameters(True, 6.0, 1.0)),
    )
    planner.stand(np.array([7]), np.array([stationary]), np.array([radius]), under)
    found = []
    for each in (plain, planner):
        each.submit(
            0, np.array([1]), np.array([start]), polygon, np.zeros(1, dtype=np.int32), np.array([0.2])
        )
        found.append(each.advance(1 << 40, Team(1))[0])
    return int(found[1].status[0]), not np.array_equal(found[0].portals, found[1].portals)


@pytest.mark.parametrize("floor, want", [(UPPER, FOUND_THROUGH_AGENTS), (GROUND, FOUND)])
def test_only_an_agent_on_the_same_floor_fills_a_door(floor, want):
    """The upper floor has a wall with a door of 2 m; below there is none."""
    _, _, built = two_storeys()
    mesh, door, start = built.mesh, (20.1, 9.0), (17.0, 9.0)
    goals = cut_goals(mesh, [GoalShape(shapely.Point(25.0, 9.0), reach=0.3, layer=UPPER)])
    polygon = located(mesh, np.array([start]), UPPER)
    assert answer_to(mesh, goals, start, polygon, door, located(mesh, np.array([door]), floor)) == (
        want,
        False,
    )


@pytest.mark.parametrize("stationary, is_other", [((5.0, 1.05), True), ((5.0, 0.45), False)])
def test_an_agent_behind_a_thin_wall_shuts_nothing(stationary, is_other):
    """A corridor of 0.7 m between two walls of a centimetre, and an agent in it, or in the one below it,
    which it fills.
    """
    walls = [shapely.box(2, 0.7, 8, 0.71), shapely.box(2, 1.41, 8, 1.42), shapely.box(2, 1.42, 8, 4)]
    mesh = build_mesh(shapely.box(0, 0, 10, 4).difference(shapely.union_all(walls))).mesh
    goals = cut_goals(mesh, [GoalShape(shapely.Point(9.0, 1.05), reach=0.1)])
    start = (1.0, 1.05)
    found = answer_to(
        mesh,
        goals,
        start,
        located(mesh, np.array([start])),
        stationary,
        located(mesh, np.array([stationary])),
        radius=0.8,
    )
    assert found == (FOUND, is_other)
