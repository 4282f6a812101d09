"""What every planner promises, of a grid over storeys: the same answers for any budget, any number of
threads, and with a save in between.
"""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdsim.kernels.threads import Team
from crowdsim.navigation.grid.layout import Shut
from tests.navigation.grid.storeys import building, cells_on_floors, grid_over, place_of
from tests.navigation.grid.test_planner import Crowd, take
from tests.navigation.grid.worlds import NAMES


class StoreyCrowd(Crowd):
    """Agents on several storeys that ask for paths among others that stand there."""

    def __init__(self, seed=1, agents=60, goals=5):
        rng = np.random.default_rng(seed)
        self.scenario = building(seed)
        _, self.grid = grid_over(self.scenario, 0.4, widest_body=0.6)
        cells = sorted(cells_on_floors(self.grid, 0.0))
        self.entity = np.arange(agents) + 1
        self.position, self.target = (
            np.array([place_of(self.grid, cells[number]) for number in rng.integers(0, len(cells), count)])
            + rng.uniform(-0.15, 0.15, (count, 2))
            for count in (agents, goals)
        )
        self.goal = rng.integers(0, goals, agents).astype(np.int32)
        self.radius = rng.choice([0.0, 0.1, 0.2, 0.4], agents)
        self.stands = rng.uniform(size=agents) < 0.2


@cache
def crowd_for(goals):
    return StoreyCrowd(2, 16, goals)


@settings(max_examples=8, deadline=None, derandomize=True)
@given(
    slices=st.lists(st.integers(200, 3000), min_size=1, max_size=12),
    threads=st.sampled_from([1, 2]),
    save=st.booleans(),
    weight=st.sampled_from([1.0, 1.5]),
    heuristic=st.sampled_from(["euclidean", "octile", "zero"]),
    goals=st.sampled_from([2, 7]),
)
def test_every_slicing_gives_the_same_paths_to_the_last_bit(slices, threads, save, weight, heuristic, goals):
    scene, drawn = crowd_for(goals), {"weight": weight, "heuristic": heuristic}
    assert scene.answers(slices, threads, save, **drawn) == scene.answers(**drawn)


@pytest.mark.parametrize(("budget", "threads", "save"), [(700, 3, False), (900, 1, True), (5000, 7, True)])
def test_budget_threads_and_saves_change_nothing(budget, threads, save):
    crowd = StoreyCrowd(3)
    assert crowd.answers([budget], threads, save) == crowd.answers()


@pytest.mark.sample(2)
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("drawn", [{}, {"heuristic": "octile"}], ids=str)
def test_agents_that_share_a_search_get_paths_as_quick_as_alone(seed, drawn):
    crowd = StoreyCrowd(seed, 80, goals=2)
    alone, _ = crowd.answers(share_searches=False)
    shared, _ = crowd.answers(**drawn)
    statuses = set()
    for entity, (status, path, _, cost) in shared.items():
        assert status == alone[entity][0] and (path == b"") == (alone[entity][1] == b"")
        statuses.add(NAMES[status])
        if NAMES[status] == "found":
            assert cost == pytest.approx(alone[entity][3], rel=1e-9)
    assert "found" in statuses


def test_what_is_shut_on_a_floor_begins_searches_anew_and_opened_again_the_paths_are_the_same():
    crowd = StoreyCrowd(4, 40)
    before, _ = crowd.answers()
    planner, answers = crowd.planner(), {}
    crowd.submit(planner)
    found, _ = planner.advance(300, Team(1))
    floor = crowd.scenario.geometry.floors[0].ground
    crowd.grid.show([Shut("half", floor.centroid.buffer(3.0), is_ground=True, layer=0)])
    crowd.grid.show([])
    take(answers, found)
    while planner.waiting:
        take(answers, planner.advance(1 << 40, Team(1))[0])
    assert answers == before
