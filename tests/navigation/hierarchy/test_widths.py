"""Widths of layers: no agent is sent round a gap that is clearly wider than it is."""

import numpy as np
import pytest
import shapely

from crowdsim.geometry.made_city import make_city
from crowdsim.kernels.threads import Team
from crowdsim.navigation.goals.goals import GoalShape, cut_goals
from crowdsim.navigation.hierarchy import planner as planner_module
from crowdsim.navigation.hierarchy.known import KnownCosts
from crowdsim.navigation.hierarchy.planner import HierarchicalPlanner
from crowdsim.navigation.hierarchy.widths import (
    GAPS_APART_M,
    WIDEST_M,
    WIDTH_STEP_M,
    classes_of,
    find_widths,
)
from crowdsim.navigation.mesh.build import build_mesh
from crowdsim.navigation.planning.protocol import ALL
from crowdsim.navigation.search.slot_fields import FOUND
from crowdsim.navigation.tiles.make import build_tiles
from tests.navigation.worlds import located, random_ground, rooms


def gaps_of(mesh):
    """All widths of portals and of what lies between two of them, ascending."""
    every = np.concatenate([mesh.edge_width[mesh.edge_twin >= 0], mesh.pair_width])
    return np.unique(every[(every > 0.0) & np.isfinite(every)])


@pytest.mark.parametrize("make", [random_ground, rooms])
@pytest.mark.parametrize("seed", range(5))
def test_an_agent_is_searched_for_as_one_that_hardly_any_other_gap_stops(make, seed):
    mesh = build_mesh(make(seed)).mesh
    widths, gaps = find_widths(mesh), gaps_of(mesh)
    assert np.all(np.diff(widths) > 0.0) and widths[0] == 0.0
    agents = np.concatenate([np.random.default_rng(seed).uniform(0.0, 3.0, 300), gaps[gaps < 3.0]])
    for width, which in zip(agents.tolist(), classes_of(widths, agents).tolist(), strict=True):
        searched = widths[which]
        assert width <= searched <= width + WIDTH_STEP_M
        lost = gaps[(gaps >= width) & (gaps < searched)]
        assert np.all(lost < width + GAPS_APART_M)


def test_where_no_gap_lies_between_one_layer_serves_all_agents():
    mesh = build_tiles(make_city(1000.0, 1).ground, 250.0)[0].mesh
    widths = find_widths(mesh)
    assert len(np.unique(classes_of(widths, np.linspace(0.3751, 0.5, 50)))) == 1
    assert widths[classes_of(widths, np.array([0.46]))].tolist() == [0.5]
    assert classes_of(widths, np.array([WIDEST_M + 1.0])).tolist() == [len(widths)]


def two_doors(width):
    """Two rooms with a door of a width straight ahead, and one of 2 m at 20 m to the side."""
    wall = shapely.box(9.9, 0.0, 10.1, 30.0)
    doors = shapely.box(9.9, 2.0, 10.1, 2.0 + width).union(shapely.box(9.9, 24.0, 10.1, 26.0))
    return shapely.box(0.0, 0.0, 20.0, 30.0).difference(wall.difference(doors))


@pytest.mark.parametrize("radius", [0.38, 0.395, 0.2, 0.42])
@pytest.mark.parametrize("nodes", ["portals", "centres"])
def test_a_wheelchair_goes_through_a_door_that_it_fits_through(radius, nodes):
    """With widths rounded up to 1/8 m those of 0.76 and 0.79 m went round by the other door, 20 m away."""
    mesh = build_tiles(two_doors(0.8), 5.0)[0].mesh
    start = np.array([[8.0, 2.4]])
    goals = cut_goals(mesh, [GoalShape(shapely.Point(12.0, 2.4))])
    planner = HierarchicalPlanner(mesh, goals, size=5.0, nodes=nodes)
    planner.submit(
        0, np.array([1]), start, located(mesh, start), np.zeros(1, dtype=np.int32), np.array([radius])
    )
    answers, _ = planner.advance(ALL, Team(1))
    assert answers.status.tolist() == [FOUND]
    middle = 0.5 * (
        mesh.vertex[mesh.edge_vertex[answers.portals]] + mesh.vertex[mesh.edge_end[answers.portals]]
    )
    in_wall = middle[np.abs(middle[:, 0] - 10.0) < 0.2, 1]
    assert len(in_wall) > 0
    assert np.all(in_wall < 3.0) == (2.0 * radius <= 0.8)


def test_layers_for_ground_to_come_are_those_that_the_agents_of_now_will_need(monkeypatch):
    """Its gaps tell some of them apart that one layer serves now."""
    monkeypatch.setattr(planner_module, "KNOWN_COSTS", KnownCosts())
    monkeypatch.setattr(planner_module, "LEAST_KEPT_AREAS", 10**9)
    before, after = (build_tiles(two_doors(width), 5.0)[0].mesh for width in (0.8, 0.45))
    planner = HierarchicalPlanner(before, cut_goals(before, []), size=5.0)
    width = np.array([0.42, 0.44, 0.48])
    planner.searches._make_layers(width)
    assert len(planner.searches._layers) == 1
    planner.foresee(after)
    then = HierarchicalPlanner(after, cut_goals(after, []), size=5.0).searches
    then._make_layers(width)
    assert len(then._layers) == 2 and then.measured == 0
    assert not np.array_equal(*then._layers)  # the one leads through the door
