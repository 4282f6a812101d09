"""Optimal searches of agents that ask together are one tree, also of fewer than share one that is kept;
those that ask later, one by one, search alone.
"""

import numpy as np
import pytest

from crowdsim.kernels.threads import Team
from crowdsim.navigation.mesh.build import build_mesh
from crowdsim.navigation.planning.mesh_planner import MeshPlanner
from crowdsim.navigation.planning.protocol import ALL
from crowdsim.navigation.planning.search_backends import MOST_TOGETHER
from tests.crowds import assert_same_on_threads_and_from_saved_states
from tests.navigation.worlds import free_points, located, point_goals, rooms


class Crowd:
    """Agents in a building of many rooms, and a planner for two goals."""

    def __init__(self):
        self.mesh = build_mesh(rooms(5, 10)).mesh
        points, _ = free_points(rooms(5, 10), 0.3, 302, np.random.default_rng(1))
        self.points, self.polygons = points[2:], located(self.mesh, points[2:])
        self.planner = MeshPlanner(self.mesh, point_goals(self.mesh, points[:2]), kind="optimal")
        assert self.planner._searches.share_together == MOST_TOGETHER < self.planner._searches.share_at

    def given(self, rows, goal=0):
        count = len(rows)
        return np.asarray(rows) + 1, np.full(count, goal, dtype=np.int32), np.full(count, 0.2)

    def ask(self, rows, goal=0, settled=False):
        """Ask for paths; return which of the requests share a tree."""
        entity, goals, radius = self.given(rows, goal)
        self.planner.submit(1, entity, self.points[rows], self.polygons[rows], goals, radius, settled=settled)
        shares = self.planner.queue.requests["shares"][-len(rows) :] == 1
        self.planner.advance(ALL, Team(1))
        return shares


def test_those_that_ask_together_share_and_those_after_them_do_not():
    crowd = Crowd()
    assert crowd.ask(np.arange(MOST_TOGETHER)).all()
    assert not crowd.ask(np.arange(100, 110)).any()
    assert not crowd.ask(np.arange(MOST_TOGETHER - 1), goal=1).any()
    assert crowd.ask(np.arange(100, 100 + MOST_TOGETHER), goal=1).all()


def test_it_is_settled_by_all_that_come_however_many_are_asked_for_at_a_time():
    crowd = Crowd()
    entity, goals, radius = crowd.given(np.arange(90))
    crowd.planner.settle(entity, goals, radius)
    for first in range(0, 90, 30):
        assert crowd.ask(np.arange(first, first + 30), settled=True).all()
    assert not crowd.ask(np.arange(100, 110)).any()


def test_in_all_so_many_share_as_before():
    crowd, alone = Crowd(), 0
    while not crowd.ask(np.array([alone])).any():
        alone += 1
    assert alone + 1 == crowd.planner._searches.share_at


HOUSE = {
    "version": 1,
    "tick": 0.1,
    "stop": {"after": 30},
    "geometry": {"walkable": {"wkt": rooms(5, 10).wkt}},
    "goals": {name: {"point": place.tolist()} for name, place in zip("ab", Crowd().points[:2])},
    "groups": [{"name": name, "count": 90, "goals": name, "radius": 0.2} for name in "ab"],
    "navigation": {"kind": "optimal"},
}


@pytest.mark.parametrize("work", [60, 2000])
def test_runs_in_which_some_ask_together_are_the_same_on_threads_and_from_saved_states(work):
    assert_same_on_threads_and_from_saved_states({**HOUSE, "budget": {"work": work}}, 45, (1, 4, 15, 24))
