"""Guesses over cells: from patch to patch, to none twice, back out of dead ends;
and joined with the path that is found.
"""

import itertools
import math

import numpy as np
import pytest

from crowdsim.navigation.grid.guess import (
    NOWHERE,
    STAY,
    TO_GOAL,
    UNDECIDED,
    CellGuess,
    GuessGrid,
    Guessing,
    guess_over_cells,
)
from crowdsim.navigation.grid.guess_join import SHORT_CUT, join_over_cells
from crowdsim.navigation.grid.obstacles import StationaryDiscs
from crowdsim.navigation.grid.patches import block_side, list_patch, make_patches
from crowdsim.navigation.grid.search import EXPANSIONS, make_slots
from crowdsim.navigation.grid.sight import is_in_sight
from tests.navigation.grid.test_bars import steps_in
from tests.navigation.grid.worlds import (
    NONE,
    OneSearch,
    cell_of_node,
    cells_of,
    centre,
    grid_of,
    length_of,
    node_of,
    random_cell,
    random_grid,
)
from tests.reference.cell_guess import Walk, join, patch_of, taut

SIDE, RINGS, TRIM = 4, 8, 0.75


class Walker:
    """One agent on a guess, which walks along its waypoints by steps of a given length."""

    def __init__(self, grid, start, goals, step=0.3, side=SIDE):
        self.grid, self.side, self.step, self.position, self.tick = (
            grid,
            side,
            step,
            np.array(start, dtype=float),
            0,
        )
        self.begin = tuple(self.position.tolist())
        nodes = (grid.width + 2) * (grid.depth + 2)
        self.slots, self.patches = make_slots(1, nodes), make_patches(nodes, side)
        columns = [
            np.full(1, first, dtype=np.int64) for first in (UNDECIDED, NOWHERE, NOWHERE, NOWHERE, 0, 0)
        ]
        self.guess = CellGuess(*columns, *(np.full((1, 400), -1, dtype=np.int32) for _ in range(4)))
        pole = np.array(goals, dtype=float)
        self.guess_grid = GuessGrid(
            grid.ground, side, RINGS, 0.0, TRIM, pole, np.array([0, len(pole)], dtype=np.int32)
        )
        self.path = []

    def look(self, patience=10**6, leads=1, is_done=None):
        """Look where it has come to; return how many waypoints it is given, -1 where it goes on."""
        laid, out = np.zeros(1, dtype=np.int64), np.empty((self.side * self.side + 2, 2))
        toward = np.array([self.path[0] if self.path else self.position])
        done = not self.path if is_done is None else is_done
        agents = Guessing(
            np.zeros(1, dtype=np.int64),
            np.array([leads], dtype=np.uint8),
            np.zeros(1, dtype=np.int32),
            np.array([self.grid.need(0.0)]),
            self.position[None],
            toward,
            np.array([done], dtype=np.uint8),
        )
        assert guess_over_cells(
            0, self.guess_grid, agents, self.tick, patience, self.guess, self.slots, self.patches, laid, out
        ) == 1  # fmt: skip
        assert np.all(self.patches.patch == -1)
        if laid[0] >= 0:
            self.path = [tuple(point) for point in out[: laid[0]].tolist()]
        return int(laid[0])

    def go(self):
        """Walk on by a step."""
        self.tick += 1
        left = self.step
        while self.path and left > 0.0:
            away = np.array(self.path[0]) - self.position
            far = float(np.hypot(*away))
            if far > left:
                self.position = self.position + away / far * left
                return
            self.position, left = np.array(self.path.pop(0)), left - far

    def joined(self, path, stationary=NONE):
        """The path from where it is, and the cells of its trail; None if it does not get back."""
        trail = np.zeros(4000, dtype=np.int32)
        out, discs = np.empty((4000, 2)), StationaryDiscs(stationary, 0, len(stationary), 0.6)
        count = join_over_cells(
            self.guess_grid, self.grid.need(0.0), self.position, np.array(self.begin), self.guess, 0,
            np.array(path, dtype=float), discs, self.slots, self.patches, trail, out,
        )  # fmt: skip
        assert count != 0 and np.all(self.patches.patch == -1)
        if count < 0:
            return None
        cells = [cell_of_node(self.grid, node) for node in trail.tolist() if node]
        return [tuple(point) for point in out[:count].tolist()], cells


def cell_under(grid, place):
    """The cell that holds a place."""
    size = grid.parameters.cell_size
    return math.floor((place[0] - grid.x) / size), math.floor((place[1] - grid.y) / size)


def world(seed, blocked=0.25, bars=False):
    """A grid with cells blocked at random, and walls between cells;
    its cells, and the steps that walls bar.
    """
    grid = random_grid(seed, blocked, 22, 17)
    if bars:
        rng = np.random.default_rng(seed)
        low = rng.integers(1, 16, (12, 2)).astype(float)
        grid.add_bars(
            np.hstack([low, low + np.where(rng.uniform(size=(12, 1)) < 0.5, [[3.0, 0.0]], [[0.0, 3.0]])])
        )
    return grid, cells_of(grid), steps_in(grid.bars)


@pytest.mark.parametrize("seed", range(4))
def test_patches_are_what_can_be_come_to_without_leaving_a_block(seed):
    grid, walkable, barred = world(seed, 0.3, bars=True)
    patches = make_patches((grid.width + 2) * (grid.depth + 2), SIDE)
    left, total = set(walkable), 0
    while left:
        cell = min(left, key=lambda each: (each[1], each[0]))
        before, total = 0, list_patch(grid.ground, grid.need(0.0), SIDE, node_of(grid, cell), patches, 0)
        mine = {cell_of_node(grid, node) for node in patches.queue[before:total].tolist()}
        assert mine == patch_of(walkable, barred, cell, SIDE)
        assert {int(patches.patch[node_of(grid, each)]) for each in mine} == {node_of(grid, cell)}
        patches.patch[patches.queue[:total]] = -1
        left -= mine


@pytest.mark.parametrize(("seed", "side"), [(0, 4), (1, 4), (2, 4), (3, 4), (4, 7), (5, 3), (6, 2), (7, 1)])
def test_a_guess_is_what_the_twin_does_and_comes_to_the_goal_if_it_can_be_reached(seed, side):
    grid, walkable, barred = world(seed, bars=seed % 2 == 1)
    rng = np.random.default_rng(seed)
    start, goal = random_cell(grid, rng), random_cell(grid, rng)
    walker = Walker(grid, centre(grid, start), [centre(grid, goal)], side=side)
    twin = Walk(walkable, barred, side, lambda cell: centre(grid, cell), [(centre(grid, goal), goal)])
    one = OneSearch(grid)
    one.find((-99.0, -99.0), (-99.0, -99.0))  # no agents stand about
    committed = None
    twin.enter(start)
    for _ in range(6000):
        cell = cell_under(grid, walker.position)
        assert cell in walkable
        if committed is not None and cell in patch_of(walkable, barred, committed, side):
            twin.enter(committed)
        if walker.look() >= 0:
            how, to = twin.choose(*walker.position.tolist())
            chosen = int(walker.guess.to[0])
            assert {
                "goal": chosen == TO_GOAL,
                "stay": chosen == STAY,
                "on": chosen == node_of(grid, to or (0, 0)),
                "back": chosen >= 0,
            }[how]
            if how == "back":
                assert cell_of_node(grid, chosen) in twin.row[-2]
            committed = cell_of_node(grid, chosen) if chosen >= 0 else None
        if int(walker.guess.to[0]) == STAY or (int(walker.guess.to[0]) == TO_GOAL and not walker.path):
            break
        walker.go()
    reached = OneSearch(grid).find(centre(grid, start), centre(grid, goal))[0] == "found"
    assert int(walker.guess.to[0]) == (TO_GOAL if reached else STAY)
    assert not reached or np.allclose(walker.position, centre(grid, goal))


def test_many_are_led_like_each_alone_in_any_order_and_with_little_room_for_waypoints():
    grid, _, _ = world(3)
    rng = np.random.default_rng(3)
    count, nodes = 30, (grid.width + 2) * (grid.depth + 2)
    position, pole = (
        np.array([centre(grid, random_cell(grid, rng)) for _ in range(count)]) for _ in range(2)
    )

    def led(order, room):
        slots, patches = make_slots(1, nodes), make_patches(nodes, SIDE)
        columns = [
            np.full(count, first, dtype=np.int64) for first in (UNDECIDED, NOWHERE, NOWHERE, NOWHERE, 0, 0)
        ]
        guess = CellGuess(*columns, *(np.full((count, 8), -1, dtype=np.int32) for _ in range(4)))
        laid, out, done, paths = np.zeros(count, dtype=np.int64), np.empty((room, 2)), 0, []
        agents = Guessing(
            order,
            np.ones(count, dtype=np.uint8),
            order.astype(np.int32),
            np.full(count, grid.need(0.0)),
            position[order],
            position[order],
            np.ones(count, dtype=np.uint8),
        )
        guess_grid = GuessGrid(
            grid.ground, SIDE, RINGS, 0.0, TRIM, pole, np.arange(count + 1, dtype=np.int32)
        )
        while done < count:
            begin, done = done, guess_over_cells(
                done, guess_grid, agents, 1, 9, guess, slots, patches, laid, out
            )  # fmt: skip
            paths += [
                path.tolist()
                for path in np.split(
                    out[: laid[begin:done].clip(0).sum()], laid[begin:done].clip(0).cumsum()[:-1]
                )
            ]
        return {int(each): path for each, path in zip(order, paths, strict=True)}, [
            array.tolist() for array in guess
        ]

    forwards = np.arange(count, dtype=np.int64)
    assert (
        led(forwards, 1000)
        == led(rng.permutation(forwards), 1000)
        == led(forwards[::-1].copy(), SIDE * SIDE + 2)
    )


def test_open_ground_is_crossed_straight():
    """Towards a goal far off at any angle: hardly longer than the straight line."""
    grid = grid_of("\n".join(["." * 60] * 60), cell=0.4)
    for angle in np.linspace(0.0, 2.0 * np.pi, 9):
        goal = np.array([12.0, 12.0]) + 11.0 * np.array([np.cos(angle), np.sin(angle)])
        walker = Walker(grid, (12.0, 12.0), [goal], step=0.1, side=block_side(0.4))
        walked = 0.0
        for _ in range(200):
            walker.look()
            before = walker.position
            walker.go()
            walked += float(np.hypot(*(walker.position - before)))
        assert np.allclose(walker.position, goal) and walked < 1.03 * 11.0


def visits_to_niche(depth):
    """The lengths (m) of the visits to a niche of so many cells, 4 wide, in a block before the goal."""
    picture = "\n".join(
        ["." * 40] * 6
        + ["." * 16 + "######" + "." * 18]
        + ["." * 16 + "#....#" + "." * 18] * depth
        + ["." * 40] * 10
    )
    goal = (7.6, 0.4 * (depth + 15))
    walker = Walker(grid_of(picture, cell=0.4), (7.6, 2.0), [goal], step=0.1, side=block_side(0.4))
    inside = []
    for _ in range(2000):
        walker.look()
        walker.go()
        inside.append(6.8 < walker.position[0] < 8.4 and 4.4 < walker.position[1] < 0.4 * (10 + depth))
    assert np.allclose(walker.position, goal)
    return [0.1 * len(list(visit)) for is_in, visit in itertools.groupby(inside) if is_in]


def test_a_niche_is_passed_by_and_a_long_dead_end_is_left_by_the_path_back_and_not_entered_again():
    assert visits_to_niche(12) == []
    (length,) = visits_to_niche(95)
    assert 30.0 < length < 60.0


def test_what_cannot_be_come_to_is_given_up():
    """It stands in one cell, held up by what cells do not show:
    after its patience it goes elsewhere, and chooses that patch no more.
    """
    grid = grid_of("\n".join(["." * 28] * 28))
    walker = Walker(grid, (13.5, 13.5), [(27.5, 13.5)])
    assert walker.look(patience=5) > 0
    first = int(walker.guess.to[0])
    for _ in range(4):
        walker.tick += 1
        assert walker.look(patience=5) == -1
    walker.tick += 1
    assert walker.look(patience=5) > 0 and int(walker.guess.to[0]) != first
    known = walker.guess.patch[0, : walker.guess.known[0]].tolist()
    assert len(known) == 2
    patches = make_patches((grid.width + 2) * (grid.depth + 2), SIDE)
    list_patch(grid.ground, grid.need(0.0), SIDE, first, patches, 0)
    assert int(patches.patch[first]) == known[1]
    second = int(walker.guess.to[0])
    # at its end, and not there
    assert walker.look(patience=5, is_done=True) > 0 and int(walker.guess.to[0]) not in (first, second)


def test_an_agent_pushed_into_a_given_up_patch_goes_on_from_there():
    grid = grid_of("\n".join(["." * 12] * 12))
    walker = Walker(grid, (5.5, 5.5), [(11.5, 5.5)])
    walker.look()
    walker.look(is_done=True)
    walker.position, walker.tick = np.array([8.5, 5.5]), 3
    assert walker.look(leads=0) == -1 and int(walker.guess.to[0]) == UNDECIDED
    assert walker.look() > 0 and int(walker.guess.to[0]) == TO_GOAL
    assert walker.guess.parent[0, int(walker.guess.at[0])] == 0


def test_a_goal_on_blocked_ground_is_gone_to_as_near_as_can_be():
    grid = grid_of("\n".join(["." * 20] * 5 + ["." * 14 + "##" + "." * 4] * 2 + ["." * 20] * 5))
    walker = Walker(grid, (1.5, 6.0), [(15.2, 6.1)])
    for _ in range(200):
        walker.look()
        walker.go()
    assert int(walker.guess.to[0]) == TO_GOAL and math.dist(walker.position, (15.2, 6.1)) < 2.0


def test_the_nearest_of_several_pieces_draws_and_no_piece_lets_it_stay():
    grid = grid_of("\n".join(["." * 24] * 12))
    walker = Walker(grid, (12.0, 6.0), [(1.5, 6.0), (18.5, 6.0)])
    walker.look()
    assert walker.path[0][0] > 12.0
    nowhere = Walker(grid, (12.0, 6.0), np.zeros((0, 2)))
    assert nowhere.look() == 0 and int(nowhere.guess.to[0]) == STAY


@pytest.mark.parametrize("seed", range(6))
def test_a_guess_is_joined_with_the_path_as_the_twin_does_it(seed):
    grid, _, _ = world(seed, 0.22, bars=seed % 2 == 1)
    rng = np.random.default_rng(100 + seed)
    one = OneSearch(grid)

    def sees(a, b):
        return is_in_sight(one.slots, 0, grid.ground, *a, *b, 0.0)

    shorter = cuts = 0
    for _ in range(12):
        start, goal = random_cell(grid, rng), random_cell(grid, rng)
        if one.find(centre(grid, start), centre(grid, goal))[0] != "found" or start == goal:
            continue
        path, length = one.waypoints()
        walker = Walker(grid, centre(grid, start), [centre(grid, goal)])
        walker.look()
        for _ in range(int(rng.integers(1, 60))):
            walker.go()
            walker.look()
        one.find((-99.0, -99.0), (-99.0, -99.0))
        found, cells = walker.joined(path)
        assert cells[0] == cell_under(grid, walker.position) and cells[-1] == start
        places = [tuple(walker.position.tolist()), *(centre(grid, cell) for cell in cells[1:])]
        view, rest = join(places[0], places, walker.begin, path, sees)
        expected = [*(taut(places[: view + 1], sees) if view else []), *rest]
        if length_of([places[0], *expected]) > length_of([walker.begin, *path]):
            outcome, _, _, used = one.find(places[0], path[-1])
            anew = one.waypoints()[0] if outcome == "found" and used <= SHORT_CUT else expected
            cuts += length_of([places[0], *anew]) < length_of([places[0], *expected])
            expected = min(expected, anew, key=lambda path: length_of([places[0], *path]))
        assert found == expected and found[-1] == path[-1]
        assert int(walker.slots.header[0, EXPANSIONS]) <= SHORT_CUT
        back = length_of([places[0], *taut(places, sees), *path]) if len(places) > 1 else length
        assert length_of([places[0], *found]) <= back + 1e-9
        shorter += length_of([places[0], *found]) < back - 0.5
    assert shorter > 3 and (cuts > 0 or seed not in (2, 3))


def test_a_joined_path_leads_round_stationary_agents():
    """The straight line to the end of the path is free, but for a stationary agent in it."""
    grid = grid_of("\n".join(["." * 30] * 12), cell=0.4)
    walker = Walker(grid, (1.0, 2.4), [(11.0, 2.4)], side=block_side(0.4))
    walker.look()
    for _ in range(6):
        walker.go()
        walker.look()
    path = [(6.0, 4.2), (11.0, 2.4)]
    assert walker.joined(path)[0] == [(11.0, 2.4)]
    stationary = np.array([[6.0, 2.4, 0.5]])
    around = walker.joined(path, stationary)[0]
    assert len(around) > 1 and around[-1] == (11.0, 2.4)
    line = [tuple(walker.position), *around]
    for (ax, ay), (bx, by) in itertools.pairwise(line):
        for t in np.linspace(0.0, 1.0, 50):
            assert math.dist((ax + (bx - ax) * t, ay + (by - ay) * t), (6.0, 2.4)) > 0.3


def test_nothing_is_joined_with_a_trail_that_was_shut_meanwhile():
    """A wall was drawn across the cells that it walked over:
    it does not get back to where its search began, and the path that came begins there.
    """
    grid = grid_of("\n".join(["." * 28] * 12))
    walker = Walker(grid, (1.5, 5.5), [(27.5, 5.5)])
    for _ in range(60):
        walker.look()
        walker.go()
    walker.look()
    assert walker.position[0] > 16.0 and walker.joined([(27.5, 5.5)]) is not None
    ground = grid_of("\n".join(["." * 10 + "#" + "." * 17] * 12)).ground
    walker.guess_grid = walker.guess_grid._replace(ground=ground)
    assert walker.joined([(27.5, 5.5)]) is None
