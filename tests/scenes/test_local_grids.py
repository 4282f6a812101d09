"""Walkers with a local grid get round what their path knows nothing of, on the mesh and on the grid;
replanning hears of what it cannot.
"""

import numpy as np
import pytest

from crowdsim.navigation.local_grid.search import AGREES, LEADS_ROUND, NO_PATH
from crowdsim.recording.opening import open_run
from crowdsim.world.columns import ReplanCause
from crowdsim.world.events import EventKind
from tests.crowds import assert_same_on_threads_and_from_saved_states, digests, room, simulation

GRID = {"kind": "grid", "cell_size": 0.1, "object_padding": 0.02}
POCKET = [(1.0, y) for y in np.arange(-1.0, 1.01, 0.4).tolist()] + [
    (x, y) for x in (-0.2, 0.2, 0.6) for y in (-1.0, 1.0)
]
# Standers who never make way, as a pocket that is open to where the walker comes from.
STANDERS = [{"position": [x, y], "immovable": True} for x, y in POCKET]


def pocket(**more):
    walker = {"id": 1, "position": [-5.0, 0.03], "goals": [{"point": [5.0, 0.0], "arrive_within": 0.3}]}
    return room([walker, *STANDERS], after=40.0, **more)


def test_a_pocket_of_standers_holds_a_walker_and_a_local_grid_leads_it_round():
    with simulation(pocket()) as alone, simulation(pocket(bodies={"local_grid": True})) as led:
        assert alone.run().arrived == 0
        verdict = led.run()
        assert verdict.arrived == 1 and verdict.last_arrival_s < 12.0 and verdict.deepest_overlap_m < 0.02


@pytest.mark.sample(1)
@pytest.mark.parametrize("navigation", ["mesh", GRID], ids=["mesh", "grid"])
def test_twelve_walkers_get_round_the_pocket_both_ways(navigation):
    walkers = [
        {
            "position": [side * (5.0 + 0.6 * i), 0.5 * j],
            "goals": [{"point": [-side * 5.0, 0.5 * j], "arrive_within": 0.5}],
        }
        for side in (1, -1)
        for i in range(2)
        for j in (-1, 0, 1)
    ]
    with simulation(
        room([*walkers, *STANDERS], after=60.0, bodies={"local_grid": True}, navigation=navigation)
    ) as run:
        assert run.run().arrived == 12


def test_nobody_who_stands_is_no_reason_to_draw_a_grid_and_changes_nothing():
    agents = [{"position": [x, 0.0], "goals": [{"point": [-x, 0.0]}]} for x in (-4.0, 4.0)]
    with (
        simulation(room(agents)) as without,
        simulation(room(agents, bodies={"local_grid": True})) as with_grid,
    ):
        assert digests(without, 60) == digests(with_grid, 60) and with_grid.counts["local_grids"] == 0.0


def test_what_the_grid_says_is_recorded(tmp_path):
    with simulation(pocket(bodies={"local_grid": True}, record={"rate": 10}), out=tmp_path / "run.h5") as run:
        run.run()
    with open_run(tmp_path / "run.h5") as recording:
        walker = recording.trajectories(columns=["local_path"]).query("id == 1")
        assert {AGREES, LEADS_ROUND} <= set(walker.local_path) and walker.local_path.iloc[-1] == AGREES


@pytest.mark.sample(1)
@pytest.mark.parametrize("replanning", [True, False])
def test_replanning_hears_of_a_way_that_is_none_and_the_walker_goes_as_near_as_can_be(replanning):
    geometry = {"walkable": [{"box": [0, 0, 6, 4]}, {"box": [6, 1.5, 6.2, 2.5]}, {"box": [6.2, 0, 12, 4]}]}
    agents = [
        {"id": 1, "position": [1, 3.5], "goals": [{"point": [11, 2]}]},
        {"position": [6.1, 2.0], "immovable": True, "radius": 0.3},
    ]
    document = {
        **room(agents, after=12.0),
        "geometry": geometry,
        "bodies": {"local_grid": True, "replanning": replanning},
    }
    with simulation(document) as run:
        causes, said = [], set()
        while not run.why_over():
            events = run.step()
            causes += events.value[events.kind == EventKind.REPLANNED].tolist()
            said.add(int(run.agents.local_path[0]))
        assert NO_PATH in said and run.agents.position[0, 0] > 5.3
        assert (ReplanCause.NO_LOCAL_PATH in causes) == replanning
        assert bool(run.verdict().replans.get("no local path")) == replanning


@pytest.mark.full
def test_a_stander_in_a_door_is_still_asked_aside():
    from crowdsim.scenario.load import load_scenario
    from crowdsim.simulation.simulation import Simulation
    from tests.crowds import SCENARIOS

    with Simulation(
        load_scenario(SCENARIOS / "doorway-blocked.yaml", sets=["bodies.local_grid=true"])
    ) as run:
        verdict = run.run()
        assert verdict.arrived == 8 and verdict.nudges > 0


def test_a_way_leads_round_an_obstacle_before_it_is_closed_ground():
    box = {
        "name": "box",
        "shape": {"polygon": [[-0.5, -1.5], [0.5, -1.5], [0.5, 1.5], [-0.5, 1.5]]},
        "path": [[0, 0]],
        "stands_after": 1000,
    }
    walkers = [
        {"position": [-5.0, y], "goals": [{"point": [5.0, y], "arrive_within": 0.4}]}
        for y in (-0.4, 0.1, 0.6)
    ]
    with simulation(room(walkers, after=40.0, bodies={"local_grid": True}) | {"obstacles": [box]}) as run:
        verdict = run.run()
        assert verdict.arrived == 3 and verdict.last_arrival_s < 14.0


def test_threads_a_saved_state_and_the_order_of_agents_change_nothing():
    document = pocket(bodies={"local_grid": True, "replanning": True})
    with simulation(document) as one, simulation(document, threads=3) as three, simulation(document) as other:
        expected = digests(one, 120)
        assert digests(three, 120) == expected
        for _ in range(47):
            other.step()
        state = other.state()
    turned = {**document, "groups": [{"name": "all", "agents": document["groups"][0]["agents"]}]}
    with simulation(turned) as again:
        again.restore(state)
        assert digests(again, 40) == expected[47:87]


TWO_DOORS = {
    "walkable": [
        {"box": [0, 0, 6, 8]},
        {"box": [6, 1.5, 6.2, 2.5]},
        {"box": [6, 6, 6.2, 7]},
        {"box": [6.2, 0, 12, 8]},
    ]
}


def shut_door(**bodies):
    """Two doors, and somebody in the nearer one who never makes way; the way by the other is 4 m longer."""
    agents = [
        {"id": 1, "position": [1, 3.5], "goals": [{"point": [11, 2]}]},
        {"id": 2, "position": [6.1, 2.0], "immovable": True, "radius": 0.3},
    ]
    return {
        **room(agents, after=30.0),
        "geometry": TWO_DOORS,
        "bodies": {"local_grid": True, "replanning": True, **bodies},
    }


@pytest.mark.sample(1)
@pytest.mark.parametrize("kind", ["optimal", "mesh"])
@pytest.mark.parametrize(("price", "arrived"), [(20.0, 1), (2.0, 0), (0.0, 0)])
def test_on_a_mesh_a_portal_that_was_found_shut_has_a_price_and_the_next_way_leads_by_the_other_door(
    price, arrived, kind
):
    with simulation({**shut_door(local_grid_price=price), "navigation": kind}) as run:
        verdict = run.run()
    assert verdict.arrived == arrived
    # the same way again, once in a cooldown
    assert verdict.replans["no local path"] <= 3 if arrived else verdict.replans["no local path"] > 30


def test_what_was_found_shut_is_forgotten_after_a_while():
    with simulation(shut_door(local_grid_memory=1.0)) as run:
        remembered = []
        while 1 in run.world.agents.entity:
            remembered.append(bool((run.world.agents.priced_portal[0] >= 0).any()))
            run.step()
    changes = np.flatnonzero(np.diff(np.array(remembered, dtype=int)))
    assert len(changes) >= 2 and not remembered[-1]  # long before the walker arrives
    assert (np.diff(changes)[::2] >= 20).all()


@pytest.mark.full
def test_a_run_with_prices_is_the_same_on_threads_and_from_a_saved_state():
    document = shut_door()
    document["groups"][0]["agents"] += [
        {"id": i, "position": [1, 0.5 * i], "goals": [{"point": [11, 2]}]} for i in range(8, 13)
    ]
    assert_same_on_threads_and_from_saved_states(document, 150, (60, 90, 120))


def test_what_stands_no_longer_in_a_door_has_no_price_any_more():
    """Somebody else opens the door while the walker still stands before it:
    its grid says so, and it goes straight on.
    """
    with simulation(shut_door(local_grid_price=2.0)) as run:
        while not (run.world.agents.priced_portal[0] >= 0).any():
            run.step()
        # steered from outside it stands no more, as searches and grids see it
        run.set_preferred_velocity(2, (0.0, 0.0))
        run.step()
        run.step()
        assert (run.world.agents.priced_portal[0] == -1).all()
