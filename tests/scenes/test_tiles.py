"""Tiles of the ground are taken out under a crowd and put back:
everybody finds another way or stands still with a reason.
"""

import numpy as np
import pytest

from crowdsim.errors import CrowdsimError, ScenarioError
from crowdsim.geometry.steps import at_once
from crowdsim.navigation.corridor.corner_cache import NOT_CACHED
from crowdsim.systems import Plan
from crowdsim.systems.ground.tile_changes import (
    change_ground_of_tiles,
    change_steps,
    change_tiles,
    ground_steps,
)
from crowdsim.systems.paths.lost_paths import ask_anew
from crowdsim.world.columns import AgentState, PathStatus
from crowdsim.world.events import EventKind
from crowdsim.world.riding import RideStep
from crowdsim.world.states import has_path
from tests.crowds import BUSY, digests, simulation
from tests.navigation.worlds import located

# Two corridors along x from a room on the left to one on the right; tiles of 4 m. The lower corridor is the
# shorter way.
TWO_PATHS = {
    "version": 1,
    "name": "two paths",
    "seed": 3,
    "tick": 0.1,
    "stop": {"after": 120, "when": "all_arrived"},
    "geometry": {
        "walkable": [[0, 0], [24, 0], [24, 12], [0, 12]],
        "obstacles": [[[4, 4], [20, 4], [20, 8], [4, 8]]],
    },
    "goals": {"out": {"exit": [[23.5, 0], [24, 0], [24, 4], [23.5, 4]]}},
    "groups": [
        {
            "name": "crowd",
            "count": 30,
            "region": [[0.5, 0.5], [3.5, 0.5], [3.5, 7], [0.5, 7]],
            "goals": ["out"],
        }
    ],
    "navigation": {"tile_size": 4},
}


# Each planner, with what its scenario says besides the size of the tiles.
PLANNERS = {
    "mesh": {},
    "optimal": {},
    "visibility": {},
    "hierarchical": {},  # areas are as large as tiles
    "grid": {"cell_size": 0.1, "object_padding": 0.02},
    "s2-grid": {},
}
NO_PATH = (PathStatus.STALE, PathStatus.UNREACHABLE)
# Over cells agents go as near as they can.
NO_PATH_OVER_CELLS = (*NO_PATH, PathStatus.NEAREST_REACHABLE, PathStatus.ENCLOSED)


def with_planner(kind):
    return {**TWO_PATHS, "navigation": {"kind": kind, "tile_size": 4, **PLANNERS[kind]}}


def events_of(taken, kind):
    return np.concatenate([events[events.kind == kind] for events in taken]).view(np.recarray)


@pytest.mark.sample(1)
@pytest.mark.parametrize("kind", PLANNERS)
def test_a_crowd_whose_tile_is_taken_out_goes_another_way_or_stands_until_it_is_back(kind):
    with simulation(with_planner(kind)) as run:
        while (
            np.count_nonzero(
                (run.world.agents.position[:, 0] > 8.2) & (run.world.agents.position[:, 0] < 11.8)
            )
            < 3
        ):
            run.step()
        agents = run.world.agents
        on = (agents.position[:, 0] > 8) & (agents.position[:, 0] < 12)
        behind, ahead = agents.entity[agents.position[:, 0] < 8], agents.entity[agents.position[:, 0] > 12]
        entity, place = agents.entity[on].copy(), agents.position[on].copy()
        had = agents.surface[on].copy()
        run.remove_tile(2, 0)
        # it is ordered, and lands in the next tick
        assert run.world.tiles is not None and not run.world.tiles.is_stale(had).any()
        taken = [run.step()]
        assert run.world.tiles.is_stale(had).all()
        assert np.all(agents.activity[on] == AgentState.STANDING) and np.all(
            agents.path_status[on] == PathStatus.STALE
        )
        taken += [run.step() for _ in range(149)]
        assert (
            set(events_of(taken, EventKind.GROUND_LOST).entity) == set(entity)
            and len(events_of(taken, EventKind.TILE_REMOVED)) == 1
        )
        assert (
            set(events_of(taken, EventKind.PATH_LOST).entity) <= set(behind)
            and len(events_of(taken, EventKind.PATH_LOST)) > 5
        )
        # their ways did not lead over it
        assert set(events_of(taken, EventKind.ARRIVAL).entity) >= set(ahead)
        rows = np.searchsorted(agents.entity, entity)
        assert np.array_equal(agents.position[rows], place) and np.all(agents.velocity[rows] == 0.0)
        others = ~np.isin(agents.entity, entity)
        assert not np.any(
            (agents.position[others, 0] > 8)
            & (agents.position[others, 0] < 12)
            & (agents.position[others, 1] < 4)
        )
        reasons = run.verdict().reasons
        assert reasons["the ground under it was taken out"] == len(entity)
        run.remove_tile(3, 2)  # the other way too
        for _ in range(100):
            run.step()
        # Nobody stands without a reason: those that walk are already beyond what was taken out, or jostle for
        # the place that is nearest.
        busy = agents.activity == AgentState.WALKING
        without = NO_PATH_OVER_CELLS if "grid" in kind else NO_PATH
        has_none = np.isin(agents.path_status, without)
        assert np.all(has_none[~busy]) and np.all((agents.position[busy, 0] > 12) | has_none[busy])
        run.add_tile(2, 0)
        run.add_tile(3, 2)
        run.step()
        rows = np.searchsorted(agents.entity, entity)
        assert (
            run.world.tiles.is_stale(had).all() and not run.world.tiles.is_stale(agents.surface[rows]).any()
        )
        verdict = run.run()
        assert verdict.arrived == 30 and verdict.not_arrived == 0


def changes(run):
    """Step a run with tiles that go and come; return the digests."""
    found = digests(run, 30)
    run.remove_tile(1, 0)
    found += digests(run, 40)
    run.remove_tile(3, 2)
    run.add_tile(1, 0)
    return found + digests(run, 40)


# places on a tile under those who start below, and on one of the upper corridor
LOW, HIGH = (0.5, 0.5), (13.0, 9.0)


def take_mesh(run):
    """Let searches take the ground as it is, which they do else when the next tick plans."""
    for paths in run.system(Plan).paths:
        paths.take_mesh()


def test_cells_of_a_tile_that_is_out_are_lost_and_their_neighbours_keep_their_clearance():
    with simulation(with_planner("grid")) as run:
        run.step()
        grid = run.system(Plan).paths[0].planner.grid
        before, cell = grid.clearance.copy(), grid.parameters.cell_size
        run.remove_tile(2, 0)
        run.step()
        x, y = grid.x + (np.arange(grid.width) + 0.5) * cell, grid.y + (np.arange(grid.depth) + 0.5) * cell
        out = ((x > 8) & (x < 12))[None, :] & ((y > 0) & (y < 4))[:, None]
        assert out.any() and np.all(grid.clearance[out] <= 0.0)
        assert np.array_equal(grid.clearance[~out], before[~out])
        run.add_tile(2, 0)
        run.step()
        assert np.array_equal(grid.clearance, before)


def test_a_watcher_whose_tile_is_out_sees_nothing_until_it_is_back():
    navigation = {"kind": "visibility", "tile_size": 4, "unseen_from": [[14, 9]]}
    with simulation({**TWO_PATHS, "navigation": navigation}) as run:
        seen = []
        for change in (lambda: None, lambda: run.remove_tile(3, 2), lambda: run.add_tile(3, 2)):
            change()
            run.step()
            seen.append(len(run.system(Plan).paths[0].planner.terrain.weights.window))
        assert seen[0] == seen[2] > 0 == seen[1]
    with pytest.raises(ScenarioError, match=r"the watcher at .* stands off the ground"):
        simulation({**TWO_PATHS, "navigation": {**navigation, "unseen_from": [[10, 6]]}})


def change_now(run, remove=(), add=()):
    """Change tiles, by places on them, between two ticks."""
    tiles = run.world.tiles
    numbers = [[tiles.tile_at(*place) for place in places] for places in (remove, add)]
    change_tiles(run.world, run.world.tick, at_once(change_steps(run.world, *numbers)))
    take_mesh(run)


def test_what_agents_remember_by_numbers_or_distances_of_the_old_ground_is_forgotten():
    with simulation(TWO_PATHS) as run:
        run.step()
        agents = run.world.agents
        agents.priced_portal[:], agents.corner_vertex[:], agents.wall_distance[:] = 3, 5, 9.0
        change_now(run, remove=[HIGH])
        assert (
            np.all(agents.priced_portal == -1)
            and np.all(agents.corner_vertex == NOT_CACHED)
            and np.all(agents.wall_distance == 0.0)
        )


def test_polygons_that_were_guessed_through_keep_their_places_under_new_numbers():
    with simulation(TWO_PATHS) as run:
        run.step()
        agents = run.world.agents
        stays, goes = (21.0, 10.0), HIGH
        before = [int(located(run.world.mesh, np.array([place]))[0]) for place in (stays, goes)]
        agents.guessed[:, 0], agents.guessed[:, 1] = before
        change_now(run, remove=[LOW, HIGH])
        after = int(located(run.world.mesh, np.array([stays]))[0])
        assert (
            after != before[0]
            and np.all(agents.guessed[:, 0] == after)
            and np.all(agents.guessed[:, 1] == -1)
        )


def test_who_has_no_ground_stays_when_another_tile_comes_and_whose_tile_is_replaced_has_not_lost_it():
    with simulation(TWO_PATHS) as run:
        run.step()
        agents, tiles = run.world.agents, run.world.tiles
        assert tiles is not None
        low = agents.position[:, 1] < 4.0
        assert low.any() and not low.all()
        change_now(run, remove=[HIGH])
        change_now(run, remove=[LOW])
        change_now(run, add=[HIGH])
        assert np.all(agents.activity[low] == AgentState.STANDING) and np.all(
            agents.path_status[low] == PathStatus.STALE
        )
        number = tiles.tile_at(0.5, 4.5)
        change_tiles(
            run.world,
            run.world.tick,
            at_once(change_steps(run.world, [number], {number: tiles.content(number)})),
        )
        take_mesh(run)
        events = run.step()
        lost, back = (
            set(events.entity[events.kind == kind].tolist())
            for kind in (EventKind.GROUND_LOST, EventKind.GROUND_BACK)
        )
        assert lost == set(agents.entity[low].tolist()) and back == set()


@pytest.mark.parametrize(
    "connection",
    [
        {"waypaths": {"line": {"points": [[12, 2], [20, 2]], "factor": 0.3}}},
        {
            "connections": {
                "walkway": {
                    "passage": {"ends": [{"area": {"box": [x, 1, x + 2, 3]}} for x in (12, 19)], "time": 1}
                }
            }
        },
    ],
    ids=["a waypath", "a passage"],
)
def test_who_goes_to_a_connection_as_its_tile_goes_walks_on_when_that_is_back(connection):
    with simulation(
        {
            "version": 1,
            "tick": 0.1,
            "stop": {"after": 60},
            "geometry": {"walkable": {"box": [0, 0, 24, 4]}},
            "goals": {"east": {"exit": {"box": [23, 0, 24, 4]}}},
            "groups": [{"name": "one", "positions": [[1, 2]], "goals": "east"}],
            "navigation": {"tile_size": 4},
            **connection,
        }
    ) as run:
        agents = run.world.agents
        while agents.position[0, 0] < 5.0:
            run.step()
        assert agents.ride_step[0] == RideStep.COMING
        run.remove_tile(1, 0)
        for _ in range(5):
            run.step()
        assert agents.activity[0] == AgentState.STANDING and agents.path_status[0] == PathStatus.STALE
        assert run.verdict().reasons == {"the ground under it was taken out": 1}
        run.add_tile(1, 0)
        assert run.run().arrived == 1


def test_who_waits_for_its_time_goes_on_waiting_without_ground_and_asks_then():
    with simulation(TWO_PATHS) as run:
        run.step()
        agents = run.world.agents
        low = np.flatnonzero(agents.position[:, 1] < 4.0)
        agents.activity[low[::2]] = AgentState.WAITING
        change_now(run, remove=[LOW])
        assert np.all(agents.activity[low[::2]] == AgentState.WAITING) and np.all(
            agents.path_status[low[::2]] == PathStatus.NONE
        )
        assert np.all(agents.activity[low[1::2]] == AgentState.STANDING) and np.all(
            agents.path_status[low[1::2]] == PathStatus.STALE
        )


def test_a_tile_that_a_program_took_out_stays_out_when_the_ground_changes_elsewhere():
    with simulation(TWO_PATHS) as run:
        run.step()
        tiles = run.world.tiles
        assert tiles is not None
        before = {tile: tiles.content(tile) for tile in tiles.tiles()}
        change_now(run, remove=[HIGH])
        gone = tiles.tile_at(*HIGH)
        change_ground_of_tiles(
            run.world,
            1,
            before,
            before,
            at_once(ground_steps(run.world, before, before)),
        )
        assert set(before) - set(tiles.tiles()) == {gone}
        change_now(run, add=[HIGH])
        assert set(before) == set(tiles.tiles())


@pytest.mark.sample(1)
@pytest.mark.parametrize("kind", PLANNERS)
def test_a_run_with_changes_is_the_same_for_any_number_of_threads(kind):
    with simulation(with_planner(kind)) as one, simulation(with_planner(kind), threads=3) as three:
        assert changes(one) == changes(three)


@pytest.mark.sample(1)
@pytest.mark.parametrize("kind", PLANNERS)
def test_a_run_on_tiles_goes_on_bit_for_bit_from_any_save(kind):
    with simulation(with_planner(kind)) as run, simulation(with_planner(kind)) as copy:
        for tick in range(90):
            if tick == 30:
                run.remove_tile(1, 0)
            if tick == 60:
                run.add_tile(1, 0)
                run.remove_tile(3, 2)
            state = run.state()
            assert all(array.dtype != object for array in state.values())
            if tick % 9 == 0 or tick in (31, 61):
                copy.restore(state)
                assert np.array_equal(copy.world.tiles.salt, run.world.tiles.salt)
            run.step()
            copy.step() if tick % 9 == 0 or tick in (31, 61) else None
            if copy.world.tick == run.world.tick:
                mine, theirs = run.world.agents.state(), copy.world.agents.state()
                assert all(
                    np.array_equal(mine[name], theirs[name], equal_nan=mine[name].dtype.kind == "f")
                    for name in mine
                ), tick


@pytest.mark.sample(1)
# on tiles that are smaller other corners are chosen now and then: none is later
@pytest.mark.parametrize("size, longer", [(1.5, 0.25), (4.0, 0.15)])
def test_everybody_arrives_on_tiles_as_on_one_piece(size, longer):
    with (
        simulation(BUSY, sets=["budget.work=2000"]) as whole,
        simulation(BUSY, sets=["budget.work=2000", f"navigation.tile_size={size}"]) as tiles,
    ):
        one, many = whole.run(), tiles.run()
        assert many.arrived == one.arrived and many.not_arrived == one.not_arrived
        assert many.last_arrival_s == pytest.approx(one.last_arrival_s, rel=longer)


@pytest.mark.full
@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "seed", [6, *(pytest.param(seed, marks=pytest.mark.full) for seed in (1, 2, 3, 5, 7))]
)
def test_agents_that_are_pushed_about_on_tiles_walk_no_detours_round_their_corners(seed):
    """On average they arrive as soon as on one piece."""
    arrivals = []
    for size in (0.0, 1.5):
        with simulation(
            BUSY,
            sets=[f"seed={seed}", "budget.work=2000", *([f"navigation.tile_size={size}"] if size else [])],
        ) as run:
            ticks = []
            while not run.why_over():
                ticks += [run.world.tick for event in run.step() if event.kind == EventKind.ARRIVAL]
            arrivals.append(np.mean(ticks))
    assert arrivals[1] < 1.02 * arrivals[0]


def test_whole_ground_says_how_to_get_tiles_and_unknown_tiles_are_told():
    with simulation(BUSY) as run, pytest.raises(CrowdsimError, match="tile_size: 16"):
        run.remove_tile(0, 0)
    with simulation(TWO_PATHS) as run:
        with pytest.raises(CrowdsimError, match=r"no tile \(9, 0\)"):
            run.remove_tile(9, 0)
        with pytest.raises(CrowdsimError, match="there already"):
            run.add_tile(1, 0)


@pytest.mark.parametrize("asks", ["a wider body", "another goal"])
@pytest.mark.parametrize("kind", ["mesh", "optimal", "visibility"])  # others answer at once
def test_a_save_while_an_agent_asks_for_a_path_from_ground_that_is_out_is_gone_on_with(kind, asks):
    document = {**with_planner(kind), "budget": {"work": 1}}

    def go_on(run):
        found = digests(run, 20)
        run.add_tile(0, 0)
        return found + digests(run, 40)

    with simulation(document) as run, simulation(document) as other:
        digests(run, 5)
        on_it = run.world.agents.entity[(run.world.agents.position < 4.0).all(axis=1)].copy()
        run.remove_tile(0, 0)
        while run.world.has_ground().all():  # one piece of work a tick
            run.step()
        if asks == "another goal":
            run.set_goal(on_it, [22.0, 10.0])
        else:
            run.set_radius(on_it, 0.3)
        run.step()
        asking = run.world.agents.path_status == PathStatus.PENDING
        assert (asking & ~run.world.has_ground()).any()
        other.restore(run.state())
        assert go_on(other) == go_on(run)


@pytest.mark.parametrize("waiting", ["stay", "previous"])
def test_agents_that_ask_as_a_tile_goes_keep_no_path_over_the_ground_of_before(waiting):
    document = with_planner("mesh")
    document["navigation"]["while_waiting"] = waiting
    with simulation(document) as run:
        digests(run, 10)
        agents = run.world.agents
        walks = (agents.activity == AgentState.WALKING) & (agents.corridor_length > 0)
        assert walks.sum() > 20
        ask_anew(agents, walks)  # as those do that become wider, or are sent elsewhere
        change_now(run, remove=[HIGH])
        assert (agents.goal_piece[walks] == -1).all() and (agents.corridor_length[walks] == 0).all()
        run.step()
        assert has_path(agents.path_status[walks]).mean() > 0.8
