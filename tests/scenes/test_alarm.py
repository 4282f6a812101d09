"""An alarm: everybody in a building gets a new goal in one tick. Planning keeps to its work, nobody waits
longer than all work takes, and those that wait come on, under every planner.
"""

import cProfile
import pstats

import numpy as np
import pytest
import shapely

from benchmarks.alarm import Alarm, behind, building, by_work, places
from crowdsim.kernels.threads import Team
from crowdsim.navigation.goals.goals import GoalShape, cut_goals
from crowdsim.navigation.mesh.build import build_mesh
from crowdsim.navigation.mesh.mesh import locate_many
from crowdsim.navigation.planning import mesh_planner
from crowdsim.navigation.planning.mesh_planner import OWN_BATCH, OWN_SLOTS, MeshPlanner
from crowdsim.navigation.planning.protocol import ALL
from crowdsim.navigation.planning.work import LEAST_GRANT
from crowdsim.navigation.search.sharing import ShareParameters
from crowdsim.systems import Plan
from crowdsim.world.events import EventKind

AGENTS, GOALS = 500, 20
# expansions a tick with which an alarm lasts for some ten ticks; where agents do not guess unless asked, that
KINDS = {
    "mesh": ({"kind": "mesh"}, 700),
    "mesh, alone": ({"kind": "mesh", "share_searches": False}, 1600),
    "optimal": ({"kind": "optimal"}, 450),
    "visibility": ({"kind": "visibility"}, 1600),
    "hierarchical": ({"kind": "hierarchical", "area_size": 15.0}, 650),
    "round": ({"kind": "mesh", "round_stationary": True}, 700),
    "grid": ({"kind": "grid", "while_waiting": "guess"}, 21_000),
    "s2-grid": ({"kind": "s2-grid", "while_waiting": "guess"}, 57_000),
}
TREES = ("mesh", "hierarchical", "round")  # all of one goal are answered by a tree before it is given up
EVERY = pytest.mark.parametrize("name", KINDS)


@pytest.fixture(scope="module")
def alarm():
    return Alarm(AGENTS, GOALS)


def rung(alarm, name, **options):
    navigation, work = KINDS[name]
    run = alarm.simulation(navigation, {"work": work}, **options)
    alarm.ring(run)
    return run


@EVERY
def test_planning_keeps_to_its_work_nobody_waits_too_long_and_all_come_on(alarm, name):
    work = KINDS[name][1]
    with rung(alarm, name) as run:
        entity, begin = run.world.agents.entity.copy(), run.world.agents.position.copy()
        answered, arrived, used, still = np.full(AGENTS, -1), np.full(AGENTS, -1), [], []
        while not used or run.counts["requests_open"]:
            before = run.world.agents.position.copy()
            events = run.step()
            used.append(int(run.counts["expansions"]))
            for kind, when in ((EventKind.PATH_FOUND, answered), (EventKind.ARRIVAL, arrived)):
                rows = np.searchsorted(entity, events["entity"][events["kind"] == kind])
                when[rows[when[rows] < 0]] = len(used) - 1
            waits = (answered < 0) & (arrived < 0)
            assert len(used) < 100
            still.append(np.hypot(*(run.world.agents.position - before).T)[waits] < 0.01)
            if len(used) == 8:
                gone = np.hypot(*(run.world.agents.position - begin).T)[waits]
    assert max(used) <= work and len(used) > 8 and not waits.any()
    assert answered.max() <= -(-sum(used) // work)
    on_a_guess = answered < 0  # some are there before they are answered
    assert on_a_guess.sum() < 0.02 * AGENTS
    slots = min(OWN_SLOTS, max(1, work // LEAST_GRANT))
    at_most = -(-len(used) * slots * OWN_BATCH // AGENTS)  # what slots have in hand may overtake
    for goal in [slice(goal, None, GOALS) for goal in range(GOALS)] + [slice(None)] * (name not in TREES):
        assert behind(answered[goal][~on_a_guess[goal]]) <= at_most
    assert np.mean(np.concatenate(still)) < 0.1 and np.median(gone) > 0.3


@pytest.mark.full
@pytest.mark.parametrize("kind", ["optimal", "mesh"])
def test_a_hundred_thousand_wait_no_longer_than_all_work_takes(kind):
    found = by_work(Alarm(100_000, 50), kind, 100_000, 60)
    assert found["most_in_a_tick"] <= 100_000 and found["unanswered"] == 0
    assert found["longest_wait"] < found["bound"] and found["expansions"] < 3_000_000
    assert found["came_on"] > 0.9


@pytest.mark.sample(3)
@EVERY
def test_an_alarm_is_the_same_on_threads_and_when_it_is_saved_in_the_middle(alarm, name):
    with rung(alarm, name) as one, rung(alarm, name, threads=3) as three, rung(alarm, name) as other:
        expected = []
        for tick in range(8):
            if tick == 3:
                saved = one.state()
            one.step()
            expected.append(one.digest)
        assert one.counts["requests_open"] > 0
        for tick in range(8):
            three.step()
            assert three.digest == expected[tick]
        other.restore(saved)
        for tick in range(3, 8):
            other.step()
            assert other.digest == expected[tick]


def calls(work, *arguments):
    """Return how many functions Python calls in some work."""
    profile = cProfile.Profile()
    profile.runcall(work, *arguments)
    return pstats.Stats(profile).total_calls


@pytest.mark.parametrize("name", ["mesh", "optimal", "hierarchical"])
def test_requests_of_many_are_made_and_withdrawn_without_python_for_each(name):
    """Blocks of portals, rows of the queue, and goals: 100,000 took two seconds."""
    made = []
    for agents in (300, 600):
        few = Alarm(agents, 5)
        with few.simulation(KINDS[name][0], {"work": 1}) as run:
            few.ring(run)
            run.step()  # all kernels are loaded
            paths = run.system(Plan).paths[0]
            paths.planner.drop(run.world.agents.entity)
            run.world.agents.path_status[:] = 0
            tick = type("Tick", (), {"number": run.world.tick + 1, "team": None})
            made.append(calls(paths.ask, tick) + calls(paths.planner.drop, run.world.agents.entity))
    assert made[1] < made[0] + 100


def test_requests_of_one_tick_that_share_a_tree_are_answered_before_it_is_given_up(monkeypatch):
    """Of more goals than there is room for trees, each has one grown once."""
    expansions = []
    for slots in (24, 3):
        monkeypatch.setattr(mesh_planner, "SHARED_SLOTS", slots)
        monkeypatch.setattr(mesh_planner, "SHARED_BATCH", 4)
        people = Alarm(AGENTS, GOALS)
        with people.simulation({"kind": "mesh"}, {"work": 1000}) as run:
            people.ring(run)
            made = 0
            while not made or run.counts["requests_open"]:
                run.step()
                made += run.counts["expansions"]
        expansions.append(made)
    assert expansions[1] <= 1.01 * expansions[0]


def test_where_ground_is_large_people_with_one_goal_share_a_search():
    """A search costs the more the larger the ground is, and so does a tree: trees paid from thousands on."""
    ground = building(7000)
    mesh = build_mesh(ground).mesh
    start, goals = places(ground, 300, 1), cut_goals(mesh, [GoalShape(shapely.Point(6.0, 10.0))])
    polygon = np.empty(300, dtype=np.int64)
    locate_many(0, 300, mesh, start, np.full(300, -1, dtype=np.int32), polygon)
    made = []
    for share in (True, False):
        planner = MeshPlanner(mesh, goals, ShareParameters(share), "optimal")
        planner.submit(
            1, np.arange(300) + 1, start, polygon, np.zeros(300, dtype=np.int32), np.full(300, 0.2)
        )
        made.append(planner.advance(ALL, Team(1))[1])
    assert mesh.edge_count > 4 * 300 and made[0] < 0.2 * made[1]
