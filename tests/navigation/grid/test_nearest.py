"""Of several points a grid's search finds the one that is nearest on foot, in any slices,
alone or drawn by a shared tree, round agents and through them.
"""

import numpy as np
import pytest

from crowdsim.kernels.threads import Team
from crowdsim.navigation.grid.parameters import PathParameters
from crowdsim.navigation.grid.planner import GridPlanner
from tests.navigation.grid.worlds import NAMES, OneSearch, random_grid

ALL = 1 << 40
RADIUS = 0.2


class World:
    """Blocked cells here and there, points anywhere, lists of them, stationary agents, and many that ask."""

    def __init__(self, seed, asks=40):
        rng = np.random.default_rng(seed)
        self.grid = random_grid(seed, rng.uniform(0.2, 0.45), 40, 30, cell=0.5, widest_body=0.8)
        self.target = rng.uniform(-0.5, (20.5, 15.5), (12, 2))
        self.choices = [np.sort(rng.choice(12, size, replace=False)) for size in (1, 2, 3, 5, 9)]
        self.position = rng.uniform(0.0, (20.0, 15.0), (asks, 2))
        self.goal = rng.integers(0, 5, asks).astype(np.int32)
        self.stationary = np.vstack(
            [self.target[:6] + rng.normal(0.0, 0.3, (6, 2)), rng.uniform(0.0, (20.0, 15.0), (30, 2))]
        )

    def planner(self, **parameters):
        planner = GridPlanner(self.grid, self.target, PathParameters(obstacle_reach=100.0, **parameters))
        planner.stand(
            np.arange(len(self.stationary)) + 1000, self.stationary, np.full(len(self.stationary), 0.8)
        )
        return planner

    def submit(self, planner):
        count = len(self.position)
        planner.submit(
            0,
            np.arange(count),
            self.position,
            np.full(count, -1),
            self.goal,
            np.full(count, RADIUS),
            self.choices,
        )


def taken(answers):
    paths = [
        answers.waypoint[a:b].tobytes() for a, b in zip(answers.start[:-1], answers.start[1:], strict=True)
    ]
    return dict(
        zip(
            answers.entity.tolist(),
            zip(
                answers.status.tolist(),
                paths,
                answers.cost.tolist(),
                map(tuple, answers.target.tolist()),
                strict=True,
            ),
            strict=True,
        )
    )


@pytest.mark.sample(7)
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize(
    "parameters",
    [{}, {"share_searches": False}, {"heuristic": "octile", "share_searches": False}, {"heuristic": "zero"}],
    ids=str,
)
def test_the_path_leads_to_the_point_with_the_shortest_path_of_all(seed, parameters):
    """Each point is searched for by itself, without bounds in common."""
    world = World(seed)
    planner, one = world.planner(**parameters), OneSearch(world.grid)
    world.submit(planner)
    answers = taken(planner.advance(ALL, Team(1))[0])
    discs, rank, seen = (
        np.column_stack([world.stationary, np.full(36, 0.8)]),
        {"found": 0, "found through agents": 1},
        set(),
    )
    for entity, (status, _, cost, target) in answers.items():
        alone = []
        for piece in world.choices[world.goal[entity]].tolist():
            outcome, _, length, _ = one.find(
                tuple(world.position[entity]), tuple(world.target[piece]), RADIUS, stationary=discs, rings=16
            )
            alone.append((rank.get(outcome, 2), length * 0.5, piece))
        seen.add(NAMES[status])
        best = min(alone)
        if NAMES[status] in rank:
            assert (rank[NAMES[status]], cost) == (best[0], pytest.approx(best[1], abs=1e-9))
            meant = [
                tuple(world.target[piece])
                for kind, length, piece in alone
                if kind == best[0] and abs(length - best[1]) < 1e-9
            ]
            assert target in meant
        else:
            assert best[0] == 2
    assert "found" in seen


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("share", [True, False])
def test_slices_threads_and_saves_change_nothing(seed, share):
    world = World(seed)
    planner = world.planner(share_searches=share)
    world.submit(planner)
    want, expansions = planner.advance(ALL, Team(1))
    for budget, threads, save in ((7, 1, False), (90, 2, True), (1000, 3, True)):
        planner, team, found, spent = world.planner(share_searches=share), Team(threads), {}, 0
        world.submit(planner)
        while planner.waiting:
            answers, used = planner.advance(budget, team)
            found |= taken(answers)
            spent += used
            if save:
                state, planner = planner.state(), world.planner(share_searches=share)
                planner.restore(state)
        team.close()
        assert found == taken(want) and spent == expansions


def test_where_nothing_can_be_reached_the_path_ends_nearest_to_any_of_the_points():
    looked = sum(_ends_nearest(World(seed, asks=80)) for seed in range(6))
    assert looked > 10


def _ends_nearest(world):
    """Look at the agents that can reach none of their points; return how many there are."""
    planner, one, looked = world.planner(), OneSearch(world.grid), 0
    world.submit(planner)
    for entity, (status, path, _, target) in taken(planner.advance(ALL, Team(1))[0]).items():
        if NAMES[status] == "nearest reachable" and len(world.choices[world.goal[entity]]) > 1:
            ends = [
                one.find(tuple(world.position[entity]), tuple(world.target[piece]), RADIUS, rings=16)[:2]
                for piece in world.choices[world.goal[entity]]
            ]
            assert all(outcome in ("nearest reachable", "enclosed") for outcome, _ in ends)
            end = np.frombuffer(path).reshape(-1, 2)[-1]
            assert any(
                np.allclose((np.array(cell) + 0.5) * 0.5, end) for _, cell in ends if cell
            ) and target in map(tuple, world.target.tolist())
            looked += 1
    return looked


def test_agents_with_the_same_points_share_one_tree_with_as_many_roots():
    world = World(1, asks=200)
    world.goal[:] = 3
    used = []
    for share in (True, False):
        planner = world.planner(share_searches=share)
        planner.stand(np.zeros(0, dtype=np.int64), np.zeros((0, 2)), np.zeros(0))
        world.submit(planner)
        answers, spent = planner.advance(ALL, Team(1))
        used.append((spent, taken(answers)))
    assert used[0][0] < used[1][0]
    for entity, (status, _, cost, _) in used[0][1].items():
        assert status == used[1][1][entity][0] and cost == pytest.approx(used[1][1][entity][2], rel=1e-12)
