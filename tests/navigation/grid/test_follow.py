"""Agents walk their waypoints at walk speed, arrive, and stop in place."""

import math
from itertools import pairwise

import numpy as np
import pytest
import shapely

from crowdsim.kernels.threads import Team
from crowdsim.navigation.grid.follow import find_cut, marked_cells
from crowdsim.navigation.grid.grid import Area, build_grid
from crowdsim.navigation.grid.parameters import GridParameters, WalkParameters
from crowdsim.navigation.grid.planner import GridPlanner
from crowdsim.navigation.grid.walkers import Walkers
from tests.navigation.grid.storeys import grid_over, two_halls
from tests.navigation.grid.worlds import grid_of
from tests.reference.grid_follow import Walker, is_cut
from tests.reference.grid_sight import touches

TICK = 0.05


def lone(position, waypoints, **parameters):
    """One agent that walks."""
    at = np.array([position], dtype=float)
    walkers = Walkers(at, WalkParameters(**parameters))
    walkers.take(
        np.array([0]), np.array([0, len(waypoints)]), np.array(waypoints, dtype=float).reshape(-1, 2), at
    )
    return walkers, at


def walk(walkers, at, speed=1.3, ticks=1000, tick=TICK):
    """Walk until an agent arrives; return (ticks, places)."""
    places = [at[0].copy()]
    for number in range(1, ticks):
        velocity, arrived = walkers.follow(at, np.full(len(at), speed), tick, Team(1))
        if arrived.any():
            return number, places
        at += velocity * tick
        places.append(at[0].copy())
    raise AssertionError("no agent arrived")


def test_a_lone_agent_arrives_after_length_over_speed_exactly_at_its_target():
    walkers, at = lone((0, 0), [(3, 0), (3, 4), (6.02, 4)])
    ticks, places = walk(walkers, at)
    length = 3 + 4 + 3.02
    assert ticks * TICK == pytest.approx(length / 1.3, abs=3 * TICK)
    assert math.dist(at[0], (6.02, 4)) <= 0.05
    assert max(math.dist(a, b) for a, b in pairwise(places)) <= 1.3 * TICK + 1e-12
    assert walkers.walks.is_walking[0] == 0 and walkers.standing(at, Team(1))[0]


@pytest.mark.parametrize("tick", [0.01, 0.05, 0.2, 0.5])
def test_a_tick_that_steps_over_a_waypoint_passes_it_by_its_plane(tick):
    """At 1.3 m/s a tick of 0.5 s walks 0.65 m, and no place comes within 0.05 m of most waypoints."""
    walkers, at = lone((0, 0), [(1, 0), (2, 0.1), (3, 0), (4, 0.3), (5, 0)])
    ticks, _ = walk(walkers, at, tick=tick)
    assert ticks * tick == pytest.approx(5.1 / 1.3, abs=2 * tick + 0.1)


def test_the_last_waypoint_is_not_passed_by_its_plane():
    walkers, at = lone((0, 0), [(2, 0)])
    at[0] = 2.5, 1.0
    velocity, arrived = walkers.follow(at, np.array([1.3]), TICK, Team(1))
    assert not arrived[0] and velocity[0] @ (np.array([2.0, 0.0]) - at[0]) > 0


@pytest.mark.sample(2)
@pytest.mark.parametrize("seed", range(20))
def test_walking_is_that_of_the_twin(seed):
    rng = np.random.default_rng(seed)
    count, tick = 7, 0.1
    at = rng.uniform(0, 10, (count, 2))
    walkers = Walkers(at)
    paths = [rng.uniform(0, 10, (rng.integers(0, 6), 2)) for _ in range(count)]
    walkers.take(np.arange(count), np.cumsum([0, *(len(path) for path in paths)]), np.concatenate(paths), at)
    twins = [Walker(tuple(at[i]), [tuple(p) for p in paths[i].tolist()]) for i in range(count)]
    speed = rng.uniform(0.5, 2.0, count)
    arrivals = 0
    for _ in range(400):
        velocity, arrived = walkers.follow(at, speed, tick, Team(1))
        for i, twin in enumerate(twins):
            want, has_arrived, walks = twin.tick(tuple(at[i]), speed[i], tick, 0.05)
            np.testing.assert_allclose(velocity[i], want, atol=1e-9)
            assert (bool(arrived[i]), bool(walkers.walks.is_walking[i])) == (has_arrived, walks)
            assert walkers.standing(at, Team(1))[i] == twin.is_standing(tuple(at[i]), 0.05)
            arrivals += has_arrived
        at = at + velocity * tick + rng.normal(0, 0.01, (count, 2)) * (rng.uniform(size=(count, 1)) < 0.2)
    assert arrivals >= 3


def test_an_agent_that_was_pushed_off_its_target_walks_back_unless_it_was_stopped_in_place():
    walkers, at = lone((0, 0), [(1, 0)])
    walk(walkers, at)
    at[0] += (0.0, 0.5)
    velocity, arrived = walkers.follow(at, np.array([1.3]), TICK, Team(1))
    assert velocity[0, 1] < -1.0 and not arrived[0] and not walkers.standing(at, Team(1))[0]
    walkers.stop(np.array([0]), at)
    velocity, _ = walkers.follow(at, np.array([1.3]), TICK, Team(1))
    assert (velocity == 0.0).all() and walkers.standing(at, Team(1))[0] and walkers.walks.is_walking[0] == 0


def test_a_new_target_near_the_last_one_is_no_new_request():
    walkers = Walkers(np.zeros((2, 2)))
    rows = np.array([0, 1])
    assert walkers.ask(rows, np.array([[5.0, 0.0], [5.0, 0.0]])).tolist() == [True, True]
    assert walkers.ask(rows, np.array([[5.25, 0.0], [5.26, 0.0]])).tolist() == [False, True]
    # counted from the one of the last request
    assert walkers.ask(rows, np.array([[5.3, 0.0], [5.3, 0.0]])).tolist() == [True, False]
    wide = Walkers(np.zeros((1, 2)), WalkParameters(same_target=2.0))
    wide.ask(rows[:1], np.array([[5.0, 0.0]]))
    assert not wide.ask(rows[:1], np.array([[6.9, 0.0]]))[0]


def test_the_distance_at_which_a_waypoint_counts_as_reached_is_a_parameter():
    for reached, steps in ((0.05, 15), (0.5, 8)):
        walkers, at = lone((0, 0), [(0.975, 0)], waypoint_reached=reached)
        assert walk(walkers, at, speed=1.3)[0] == pytest.approx(steps, abs=1)


def test_new_paths_leave_those_of_others_alone():
    at = np.zeros((3, 2))
    walkers = Walkers(at)
    walkers.take(
        np.array([0, 1, 2]),
        np.array([0, 2, 3, 5]),
        np.array([[1, 0], [2, 0], [3, 0], [4, 0], [5, 0]], dtype=float),
        at,
    )
    walkers.walks.current[0] = 1
    walkers.take(np.array([1, 2]), np.array([0, 0, 1]), np.array([[9.0, 9.0]]), at + 0.5)
    walks = walkers.walks
    paths = [walks.waypoint[a : a + n].tolist() for a, n in zip(walks.start, walks.total)]
    assert paths == [[[1, 0], [2, 0]], [], [[9, 9]]] and walks.current.tolist() == [1, 0, 0]
    assert walks.target.tolist() == [[2, 0], [0.5, 0.5], [9, 9]]  # an agent without a path stops where it is
    assert len(walks.waypoint) == 3


def test_a_save_in_between_and_threads_change_nothing():
    rng = np.random.default_rng(1)
    count = 1500
    start = rng.uniform(0, 10, (count, 2))
    path = rng.uniform(0, 10, (3 * count, 2))
    ends = []
    for threads, save in ((1, False), (3, False), (1, True)):
        walkers, at, team = Walkers(start), start.copy(), Team(threads)
        walkers.take(np.arange(count), np.arange(0, 3 * count + 1, 3), path, at)
        for _ in range(60):
            velocity, _ = walkers.follow(at, np.full(count, 1.3), 0.1, team)
            at = at + 0.1 * velocity
            if save:
                saved = walkers.state()
                walkers.follow(at + 1.0, np.full(count, 1.3), 0.1, team)
                walkers = Walkers(start)
                walkers.restore(saved)
        ends.append((at.tobytes(), *(array.tobytes() for array in walkers.state().values())))
    assert ends[0] == ends[1] == ends[2]


def test_a_save_is_taken_back_where_an_agent_stopped_and_the_paths_of_others_have_become_shorter():
    at = np.zeros((2, 2))
    walkers = Walkers(at)
    walkers.take(np.array([0, 1]), np.array([0, 4, 5]), np.arange(10.0).reshape(5, 2), at)
    walkers.stop(np.array([1]), at)
    walkers.take(np.array([0]), np.array([0, 1]), np.array([[9.0, 9.0]]), at)
    saved = walkers.state()
    assert saved["start"][1] > len(saved["waypoint"])
    again = Walkers(at)
    again.restore(saved)
    assert all(np.array_equal(saved[name], kept, equal_nan=True) for name, kept in again.state().items())


@pytest.mark.parametrize("seed", range(6))
def test_paths_over_an_area_that_closed_are_cut_and_no_others(seed):
    rng = np.random.default_rng(seed)
    rooms = [
        Area(f"{x},{y}", shapely.box(x, y, x + 2, y + 2)) for x in range(0, 8, 2) for y in range(0, 8, 2)
    ]
    grid = build_grid(rooms, (), GridParameters(cell_size=0.5, agent_radius=0.0, object_padding=0.0))
    before = grid.clearance.copy()
    for name in rng.choice([room.name for room in rooms], 2, replace=False):
        grid.set_area_available(name, False)
    closed = marked_cells((before >= 0) & (grid.clearance < 0))
    lost = [(x, y) for y, x in zip(*np.nonzero((before >= 0) & (grid.clearance < 0)))]
    at = rng.uniform(0, 8, (40, 2))
    walkers = Walkers(at)
    paths = [rng.uniform(0, 8, (rng.integers(1, 3), 2)) for _ in range(40)]
    walkers.take(np.arange(40), np.cumsum([0, *(len(path) for path in paths)]), np.concatenate(paths), at)
    cut = np.empty(40, dtype=np.uint8)
    find_cut(0, 40, walkers.walks, at, grid.ground, closed, cut)

    def in_cells(p):
        return (p[0] - grid.x) / 0.5, (p[1] - grid.y) / 0.5

    want = [is_cut(in_cells(at[i]), [in_cells(p) for p in paths[i]], lost, touches) for i in range(40)]
    assert cut.tolist() == want and 0 < sum(want) < 40


def test_agents_go_round_one_that_stands_and_through_one_in_the_only_door():
    """From asking to arriving: stationary agents are found, paths planned round them, and walked."""
    team = Team(1)
    for picture, is_door in (("........\n........\n........", False), ("...#....\n........\n...#....", True)):
        grid = grid_of(picture)
        at = np.array([[0.5, 1.5], [3.5, 1.5]])
        walkers, planner = Walkers(at), GridPlanner(grid, np.array([[7.5, 1.5]]))
        assert walkers.standing(at, team).tolist() == [True, True]
        assert walkers.ask(np.array([0]), planner.target)[0]
        planner.stand(np.array([1, 2]), at, np.array([0.4, 0.4]))
        planner.submit(
            0, np.array([1]), at[:1], np.array([-1]), np.array([0], dtype=np.int32), np.array([0.0])
        )
        answers, _ = planner.advance(1 << 30, team)
        assert answers.status[0] == (3 if is_door else 2)
        walkers.take(np.array([0]), answers.start, answers.waypoint, at)
        nearest, done = 9.0, False
        for _ in range(300):
            velocity, arrived = walkers.follow(at, np.array([1.3, 1.3]), TICK, team)
            done |= bool(arrived[0])
            at = at + TICK * velocity
            nearest = min(nearest, math.dist(*at))
        assert done and (at[1] == (3.5, 1.5)).all()
        assert nearest < 0.1 if is_door else nearest > 0.6


class OnTheStair:
    """One agent on the path from (3, 6) below over the seams at (5, 6) and (9, 6) to (14, 6) above."""

    def __init__(self):
        _, self.grid = grid_over(two_halls(), 0.2)
        self.walkers = Walkers(self.place(3, 6, 0), None, self.grid.ground)
        waypoint = np.vstack([self.place(5, 6, 0), self.place(9, 6, 2), self.place(14, 6, 1)])
        self.walkers.take(np.array([0]), np.array([0, 3]), waypoint, self.place(3, 6, 0))

    def place(self, x, y, floor):
        return self.grid.sheet.place_of(np.array([[x, y]]), np.array([floor]))

    def at(self, x, y, floor, radius=0.2):
        """How many waypoints are passed when it is there, and which place in plan it walks to."""
        aim = np.empty((1, 2))
        here, speed = self.place(x, y, floor), np.array([1.3])
        velocity, _ = self.walkers.follow(here, speed, 0.1, Team(1), np.array([radius]), aim)
        to, total = self.grid.sheet.plan_of(aim)[0], self.walkers.walks.total[0]
        away = to - (x, y)
        assert velocity[0] * np.hypot(*away) == pytest.approx(1.3 * away) or np.hypot(*away) < 0.2
        return int(self.walkers.walks.current[0]) if total else 3, to.round(9).tolist()


def test_a_waypoint_at_a_seam_is_passed_on_the_floor_beyond_and_not_beside_it():
    assert OnTheStair().at(4.9, 6.2, 0)[0] == 0
    assert OnTheStair().at(5.3, 4.0, 0)[0] == 0, "past the plane through it, and on the floor that it leaves"
    assert OnTheStair().at(5.02, 6.4, 2)[0] == 1
    one = OnTheStair()
    assert [one.at(*where)[0] for where in ((5.1, 6, 2), (8.97, 6, 2), (9.2, 6.5, 1), (14, 6, 1))] == [
        1,
        2,
        2,
        3,
    ]


def test_nobody_passes_a_waypoint_above_or_below_it():
    one = OnTheStair()
    one.at(5.1, 6, 2)
    assert one.at(9.0, 6, 0)[0] == 1 and one.at(14.0, 6, 0)[0] == 1
    one.at(9.2, 6, 1)
    assert one.at(14.0, 6, 0)[0] == 2 and one.walkers.walks.total[0] == 3


def test_one_walks_over_a_seam_towards_what_lies_behind_it_if_it_fits_past_its_ends():
    """The seam goes from y = 5 to y = 7."""
    assert OnTheStair().at(4.0, 6.0, 0)[1] == [9.0, 6.0]
    assert OnTheStair().at(4.0, 6.9, 0)[1] == [9.0, 6.0], "at 6.72, 0.28 m from its end"
    assert OnTheStair().at(4.0, 6.9, 0, radius=0.3)[1] == [5.0, 6.0]
    assert OnTheStair().at(4.0, 9.0, 0)[1] == [5.0, 6.0], "past its end"


def test_what_is_ahead_is_measured_along_the_surface():
    one = OnTheStair()
    ahead = one.walkers.ahead(np.array([0]), one.place(3, 6, 0), Team(1))
    assert ahead[0] == pytest.approx(2.0 + np.hypot(4.0, 2.4) + 5.0)
