"""Tiles that a program takes out and puts back are a task of the one time slicer:
in order, paid for, between two ticks, saved in the middle.
"""

import copy

import numpy as np
import pytest

from crowdsim.errors import CrowdsimError
from crowdsim.navigation.tiles.tiled_mesh import TiledMesh
from crowdsim.recording.opening import open_run
from crowdsim.simulation.budget import recorded_grants
from crowdsim.systems.base.system import Tick
from crowdsim.systems.gates import Gates
from crowdsim.systems.ground import tile_changes
from crowdsim.systems.ground.building import TASK
from crowdsim.world.columns import AgentState, PathStatus, ReplanCause
from crowdsim.world.events import EventKind
from tests.crowds import digests, simulation
from tests.scenes.test_doors import ROOMS
from tests.scenes.test_tiles import TWO_PATHS

TILE_EVENTS = (EventKind.TILE_REMOVED, EventKind.TILE_ADDED)


def scene(budget):
    return {**copy.deepcopy(TWO_PATHS), "budget": budget}


def tile_events(run, ticks):
    """Step on; return (tick, kind, tile) of what became of tiles."""
    found = []
    for _ in range(ticks):
        found += [
            (int(event.tick), EventKind(event.kind), run.world.tiles.name_of(int(event.value)))
            for event in run.step()
            if event.kind in TILE_EVENTS
        ]
    return found


def polygons(run, *names):
    tiles = run.world.tiles
    return sum(tiles.content(tiles.tile_named(*name)).polygon_count for name in names)


def test_where_work_decides_a_change_is_paid_for_by_the_polygon_and_lands_next_tick_or_when_paid():
    with simulation(scene({"work": 100_000})) as run:
        digests(run, 20)
        run.remove_tile(2, 0)
        assert tile_events(run, 1) == [(21, EventKind.TILE_REMOVED, (2, 0))]
        assert run.counts["ground_work"] == polygons(run, (2, 0)) and run.counts["ground_wait_ticks"] == 0
    with simulation(scene({"work": 1})) as run:
        while run.counts.get("requests_open", 1):
            run.step()
        before, mesh, price = run.tick, run.world.mesh, polygons(run, (2, 0), (3, 2))
        run.remove_tile(2, 0)
        run.remove_tile(3, 2)
        assert price >= 2
        for tick in range(1, price):
            assert (
                not tile_events(run, 1)
                and run.world.mesh is mesh
                and run.counts["ground_work"] == 1
                and run.counts["ground_wait_ticks"] == tick - 1
            )
        assert tile_events(run, 1) == [
            (before + price, EventKind.TILE_REMOVED, name) for name in ((2, 0), (3, 2))
        ]
        assert run.counts["ground_wait_ticks"] == 0 and not np.any(
            run.world.tiles.is_there[[run.world.tiles.tile_named(2, 0)]]
        )


def test_changes_land_in_the_order_in_which_they_were_ordered():
    with simulation(scene({"work": 1})) as run:
        while run.counts.get("requests_open", 1):
            run.step()
        tile = run.world.tiles.tile_named(2, 0)
        first = int(run.world.tiles.salt[tile])
        run.remove_tile(2, 0)
        run.add_tile(2, 0)  # not in one with the first: an agent there loses the ground, and then has it back
        run.remove_tile(3, 2)  # with the second
        happened = tile_events(run, 1)
        run.remove_tile(2, 0)
        happened += tile_events(run, 30)
        assert [each[1:] for each in happened] == [
            (EventKind.TILE_REMOVED, (2, 0)),
            (EventKind.TILE_REMOVED, (3, 2)),
            (EventKind.TILE_ADDED, (2, 0)),
            (EventKind.TILE_REMOVED, (2, 0)),
        ]
        ticks = [each[0] for each in happened]
        assert ticks[0] < ticks[1] == ticks[2] < ticks[3] and run.world.tiles.salt[tile] == first + 2


def test_a_change_lands_between_two_ticks_and_all_agents_on_it_stand_with_a_reason_in_that_tick():
    with simulation(scene({"milliseconds": 0.001, "slice": 300})) as run:
        while (
            np.count_nonzero(
                (run.world.agents.position[:, 0] > 8.2) & (run.world.agents.position[:, 0] < 11.8)
            )
            < 3
        ):
            run.step()
        run.remove_tile(2, 0)
        landed = 0
        for number in range(run.tick + 1, run.tick + 40):
            tick, before = Tick(number, run.scenario.tick, run.team), run.world.mesh
            for system in run.systems:
                agents = run.world.agents
                old = agents.state()
                system.process(tick)
                if run.world.mesh is not before:
                    assert isinstance(system, Gates)
                    changed = {
                        name
                        for name, array in old.items()
                        if not np.array_equal(array, getattr(agents, name), equal_nan=array.dtype.kind == "f")
                    }
                    assert {"activity", "path_status", "corridor_length"} <= changed <= set(Gates.writes)
                    on = (
                        (agents.position[:, 0] > 8)
                        & (agents.position[:, 0] < 12)
                        & (agents.position[:, 1] < 4)
                    )
                    assert (
                        on.sum() >= 3
                        and np.all(agents.activity[on] == AgentState.STANDING)
                        and np.all(agents.path_status[on] == PathStatus.STALE)
                    )
                    landed += 1
                before = run.world.mesh
            run.world.tick = number
    assert landed == 1


def changes(run, ticks=30):
    """Order changes while others are in the making; return the digests."""
    run.remove_tile(1, 0)
    found = digests(run, 2)
    run.add_tile(1, 0)
    run.remove_tile(3, 2)
    return found + digests(run, ticks)


def test_where_a_clock_decides_each_step_is_a_slice_and_the_run_is_run_again_from_what_was_granted(tmp_path):
    document, out = scene({"milliseconds": 0.001, "slice": 300}), tmp_path / "tiles.h5"  # a slice a tick
    with simulation(document, out=out) as run:
        digests(run, 30)
        expected = changes(run)
    with open_run(out) as recording:
        granted, ticks = recorded_grants(recording), recording.ticks()
    assert (ticks["ground_work"] > 0).sum() >= 8 and ticks["ground_wait_ticks"].max() >= 4
    for threads in (1, 2):
        with simulation(document, granted=granted, threads=threads) as run:
            digests(run, 30)
            assert changes(run) == expected


@pytest.mark.sample(1)
@pytest.mark.parametrize("budget", [{"work": 1}, {"milliseconds": 1, "slice": 50}], ids=str)
def test_a_run_that_was_saved_while_tiles_were_ordered_goes_on_bit_for_bit(budget):
    granted = dict.fromkeys(range(1, 400), 50) if "milliseconds" in budget else None
    with (
        simulation(scene(budget), granted=granted) as run,
        simulation(scene(budget), granted=granted) as other,
    ):
        digests(run, 40)
        for name in ((1, 0), (2, 0), (3, 0)):
            run.remove_tile(*name)
        run.add_tile(1, 0)
        run.remove_tile(3, 2)
        states = []
        while run.system(Gates).expects:
            states.append((run.tick, run.state()))
            run.step()
        last = run.tick
        expected = digests(run, 10)
        assert len(states) >= 4 and sum("tasks/task/ground" in state for _, state in states) >= 3
        for tick, state in reversed(states):
            other.restore(states[-1][1])  # into one in which something else is in the making
            other.restore(state)
            assert other.state().keys() == state.keys() and (TASK in other.budget.tasks) == (
                "tasks/task/ground" in state
            )
            for _ in range(last - tick):
                other.step()
            assert not other.system(Gates).expects and digests(other, 10) == expected


def test_tiles_and_doors_are_built_one_after_the_other():
    """Both in one run, from a save in the middle too; the ground in the end is that of both at once."""
    document = {**copy.deepcopy(ROOMS), "navigation": {"kind": "mesh", "tile_size": 4}, "budget": {"work": 1}}
    with (
        simulation(document) as run,
        simulation(document) as other,
        simulation({**document, "budget": {"work": 100_000}}) as at_once,
    ):
        for each in (run, at_once):
            digests(each, 5)
            each.set_area_available("north", False)
            each.step()
            each.remove_tile(0, 0)
            each.set_area_available("south", True)
        saved = run.tick, run.state()
        assert not run.world.tiles.is_stale(run.world.agents.surface).any()
        tile, happened = run.world.tiles.tile_named(0, 0), {}
        while run.system(Gates).expects:
            for event in run.step():
                if event.kind in (EventKind.AREA_CLOSED, EventKind.AREA_OPENED) or (
                    event.kind == EventKind.TILE_REMOVED and event.value == tile
                ):
                    happened[EventKind(event.kind)] = int(event.tick)
        # in the order of the orders
        assert (
            happened[EventKind.AREA_CLOSED]
            <= happened[EventKind.TILE_REMOVED]
            < happened[EventKind.AREA_OPENED]
        )
        at_once.step()
        assert not at_once.system(Gates).expects
        assert all(
            np.array_equal(a, b, equal_nan=True)
            for a, b in zip(run.world.mesh, at_once.world.mesh, strict=True)
        )
        assert all(np.array_equal(a, b) for a, b in zip(run.world.walls, at_once.world.walls, strict=True))
        other.restore(saved[1])
        for _ in range(run.tick - saved[0]):
            other.step()
        assert digests(run, 10) == digests(other, 10)


def test_walls_reach_as_far_as_they_have_to_where_bodies_became_wider_meanwhile():
    with simulation(scene({"work": 1})) as run:
        digests(run, 40)
        for name in ((2, 0), (3, 0), (2, 2), (3, 2)):
            run.remove_tile(*name)
        run.step()
        assert run.system(Gates).expects
        reach = run.world.walls.reach
        run.set_radius(run.world.agents.entity[:1], 1.0)
        while run.system(Gates).expects:
            run.step()
        tiles = run.world.tiles
        again = TiledMesh.from_state(tiles.state(whole=True))
        assert run.world.walls.reach == tiles.wall_reach > reach
        assert all(np.array_equal(a, b) for a, b in zip(run.world.walls, again.walls, strict=True))


def test_what_was_ordered_counts_for_what_can_be_ordered():
    with simulation(scene({"work": 1})) as run:
        run.remove_tile(2, 0)
        with pytest.raises(CrowdsimError, match=r"tile \(2, 0\) is not there"):
            run.remove_tile(2, 0)
        run.add_tile(2, 0)
        with pytest.raises(CrowdsimError, match=r"tile \(2, 0\) is there already"):
            run.add_tile(2, 0)
        assert run.verdict().steered == 2


def test_a_run_is_not_over_before_the_ground_is_back_that_all_wait_for():
    with simulation(scene({"work": 100_000})) as run:
        for tile in ((1, 0), (1, 2)):
            run.remove_tile(*tile)
        while not run.why_over():
            run.step()
        assert run.why_over() == "no agent can go on"
        for tile in ((1, 0), (1, 2)):
            run.add_tile(*tile)
        verdict = run.run()
        assert verdict.arrived == 30


@pytest.mark.parametrize("navigation", ["mesh", "optimal"])
def test_paths_are_carried_over_as_one_by_one(navigation, monkeypatch):
    """Twin of the vectors: every agent's way looked at by itself."""
    carried, rng = tile_changes._carry_corridors, np.random.default_rng(1)
    outcomes = []

    def both(world, tick, now, piece, under):
        agents, cells, mesh = world.agents, world.corridors.portals, world.mesh
        narrow = np.arange(len(now.polygon)) == under[rng.integers(len(under))]  # rare on its own
        now = now._replace(is_narrower=narrow) if tick % 12 == 1 else now
        fresh = np.ones(mesh.polygon_count, dtype=bool)
        fresh[now.polygon[now.polygon >= 0]] = now.is_narrower[now.polygon >= 0]
        expected = {}
        for row in np.flatnonzero(agents.path_status == PathStatus.FOUND).tolist():
            portals = [
                int(now.edge[cells[int(agents.corridor_start[row]) + i]])
                for i in range(int(agents.corridor_length[row]))
            ]
            target, here = int(agents.goal_piece[row]), int(under[row])
            stays = (
                target >= 0 and piece[target] >= 0 and now.polygon[here] >= 0 and not now.is_narrower[here]
            )
            for portal in portals:
                stays = (
                    stays
                    and portal >= 0
                    and mesh.edge_twin[portal] >= 0
                    and not fresh[mesh.edge_polygon[mesh.edge_twin[portal]]]
                )
            expected[row] = (
                (PathStatus.FOUND, int(piece[target]), portals) if stays else (PathStatus.NONE, -1, [])
            )
        walked = agents.activity == AgentState.WALKING
        carried(world, tick, now, piece, under)
        for row, (status, target, portals) in expected.items():
            start, length = int(agents.corridor_start[row]), int(agents.corridor_length[row])
            assert (
                agents.path_status[row],
                agents.goal_piece[row],
                cells[start : start + length].tolist(),
            ) == (status, target, portals)
            if status == PathStatus.NONE and walked[row]:
                assert agents.replan_wish[row] == ReplanCause.WAY_SHUT
            outcomes.append(status)

    monkeypatch.setattr(tile_changes, "_carry_corridors", both)
    with simulation({**scene({"work": 100_000}), "navigation": {"kind": navigation, "tile_size": 4}}) as run:
        tiles = run.world.tiles
        for name in ((2, 2), (4, 2), (2, 2), (2, 0), (4, 2), (2, 0), (3, 0), (3, 2), (3, 0), (3, 2)):
            for _ in range(6):
                run.step()
            (run.remove_tile if tiles.is_there[tiles.tile_named(*name)] else run.add_tile)(*name)
    assert outcomes.count(PathStatus.FOUND) > 20 and outcomes.count(PathStatus.NONE) > 20
