"""Agents that come in while the run lasts, seen from outside: from recorded places alone."""

import numpy as np
import pytest
import shapely

import crowdsim as library
from crowdsim import measures
from crowdsim.scenario.load import as_scenario
from crowdsim.simulation import guests
from crowdsim.simulation.simulation import Simulation
from crowdsim.world.entities import FIRST_DISC
from tests.cli.command import crowdsim
from tests.scenes.parties import MODELS, PLANNERS


def hall(*groups, **more):
    """Return a hall that is entered at the left and left at the right, round a wall."""
    return {
        "version": 1,
        "geometry": {"walkable": {"box": [0, 0, 20, 10]}, "obstacles": [{"box": [9, 0, 10, 6]}]},
        "goals": {"up": {"exit": {"box": [19, 6, 20, 10]}}, "down": {"exit": {"box": [19, 0, 20, 4]}}},
        "groups": list(groups),
        "record": {"rate": 20},
        "stop": {"after": 60},
        **more,
    }


def flow(name="flow", **more):
    return {
        "name": name,
        "region": {"box": [0, 0, 3, 10]},
        "goals": {"shares": {"up": 2, "down": 1}},
        "arrive": {"rate": "2/s", "process": "poisson", "until": 30},
        **more,
    }


def record(document, path, **more):
    with Simulation(document, out=path, **more) as run:
        return run.run()


def first_places(kept):
    """Return of each agent the first recorded place, with its radius and group."""
    seen, roster = kept.trajectories(), kept.roster().set_index("entity")
    first = seen.sort_values("frame", kind="stable").drop_duplicates("id").set_index("id")
    return first.join(roster[["radius", "group_name", "index", "spawn_tick"]])


@pytest.mark.sample(1)
@pytest.mark.parametrize("navigation", PLANNERS, ids=str)
def test_agents_come_are_never_put_into_others_or_walls_and_leave_by_their_exits(navigation, tmp_path):
    verdict = record(hall(flow(), navigation=navigation), tmp_path / "run.h5", threads=2)
    assert verdict.not_arrived == 0 and verdict.came == verdict.agents == verdict.arrived > 40
    assert verdict.waiting_outside == 0 and not verdict.more_to_come
    with library.open_run(tmp_path / "run.h5") as kept:
        first, seen = first_places(kept), kept.trajectories()
    ground = shapely.box(0, 0, 20, 10).difference(shapely.box(9, 0, 10, 6))
    assert (first["x"] <= 3.0 + 0.1).all()  # less than a step after they came in
    radius, frames = first["radius"], dict(list(seen.groupby("frame")))
    for entity, one in first.iterrows():
        point = shapely.Point(one["x"], one["y"])
        assert ground.boundary.distance(point) >= one["radius"] - 1e-6
        others = frames[one["frame"]][frames[one["frame"]]["id"] != entity]
        apart = np.hypot(others["x"] - one["x"], others["y"] - one["y"])
        # they have walked one tick since
        assert (apart >= radius.loc[others["id"]].to_numpy() + one["radius"] - 0.02).all()
    used = measures.exit_use(tmp_path / "run.h5").set_index("goal")["people"]
    assert used["up"] + used["down"] == verdict.arrived
    assert 0.4 < used["up"] / verdict.arrived < 0.9  # 2 of 3; some 60 people
    assert crowdsim(["verify", tmp_path / "run.h5"]).returncode == 0


@pytest.mark.sample(1)
@pytest.mark.parametrize("model", MODELS)
def test_where_they_find_no_room_they_wait_outside_in_order_of_arrival(model, tmp_path):
    """Ten a second want into a corner from which two a second get away."""
    document = hall(
        {
            "name": "flow",
            "goals": "down",
            "radius": {"choice": {"values": [0.2, 0.3]}},
            "arrive": {"rate": 10, "at_most": 60, "doors": [{"box": [0, 0, 1, 1]}, {"box": [0, 9, 1, 10]}]},
        },
        avoidance=model,
        stop={"after": 20},
    )
    with Simulation(document, out=tmp_path / "run.h5") as run:
        outside = []
        while not run.why_over():
            run.step()
            outside.append(run.counts["waiting_outside"])
        verdict = run.finish()
    came = run.world.came.index
    assert max(outside) > 5 and len(came)
    with library.open_run(tmp_path / "run.h5") as kept:
        first, ticks = first_places(kept), kept.ticks()
    assert ticks["waiting_outside"].tolist() == outside
    # from one door the indices come in order, and each waits for its turn: even ones here, odd ones there
    for door in (0, 1):
        own = first[first["index"] % 2 == door].sort_values(["frame", "index"])
        assert own["index"].is_monotonic_increasing
        assert (own["y"] < 1.2).all() if door == 0 else (own["y"] > 8.8).all()
    assert len(first) + verdict.waiting_outside == 60
    assert verdict.waiting_outside == outside[-1]
    if verdict.waiting_outside:
        assert verdict.longest_outside_s > 1.0


def test_what_an_agent_is_depends_on_its_group_and_index_alone():
    """Neither the order of groups, nor other groups, nor a fuller entrance, nor threads change it."""
    other = flow("other", arrive={"rate": 3, "until": 20}, radius={"uniform": {"low": 0.15, "high": 0.25}})
    facts = []
    for groups, threads in (([flow()], 1), ([other, flow()], 1), ([flow(), other], 3)):
        with Simulation(hall(*groups), threads=threads) as run:
            found = {}
            for _ in range(400):
                run.step()
                agents = run.world.agents
                group = [each.name for each in run.scenario.groups].index("flow")
                for row in np.flatnonzero(agents.group == group).tolist():
                    found[int(agents.index[row])] = (
                        float(agents.desired_speed[row]),
                        float(agents.symmetry_draw[row]),
                        int(agents.itinerary[row])
                        - run.world.itineraries.index(run.world.itineraries[-1]) * 0,
                    )
            facts.append(({index: fact[:2] for index, fact in found.items()}, run.digest))
    assert facts[0][0] == facts[1][0] == facts[2][0] and len(facts[0][0]) > 25
    assert facts[1][1] == facts[2][1] != facts[0][1]


@pytest.mark.sample(1)
@pytest.mark.parametrize("navigation", PLANNERS, ids=str)
def test_a_run_goes_on_from_any_tick(navigation):
    train = {
        "name": "train",
        "goals": "up",
        "premovement": {"uniform": {"low": 0, "high": 3}},
        "arrive": {"trains": {"people": 15, "within": 3, "every": 8}, "doors": [{"box": [0, 0, 2, 2]}]},
    }
    document = hall(flow(), train, navigation=navigation, budget={"work": 300})
    with Simulation(document) as run:
        states, digests = {}, []
        for tick in range(240):
            if tick % 37 == 0:
                states[tick] = {name: array.copy() for name, array in run.state().items()}
            run.step()
            digests.append(run.digest)
    for begin in states:
        with Simulation(document, threads=2) as run:
            run.restore(states[begin])
            for tick in range(begin, min(240, begin + 40)):
                run.step()
                assert run.digest == digests[tick], (begin, tick)


def test_a_recorded_run_is_resumed_and_the_whole_is_the_same(tmp_path):
    document = hall(flow(), {"name": "first", "count": 6, "region": {"box": [4, 0, 8, 10]}, "goals": "up"})
    (tmp_path / "a.yaml").write_text(as_scenario(document).canonical(), encoding="utf-8")
    whole = crowdsim(["run", tmp_path / "a.yaml", "--out", tmp_path / "whole.h5"])
    part = crowdsim(["run", tmp_path / "a.yaml", "--out", tmp_path / "part.h5", "--checkpoint-every", "7s",
                     "--time-limit", "0"])  # fmt: skip
    assert whole.returncode == 0 and part.returncode == 7
    assert crowdsim(["resume", tmp_path / "part.h5"]).returncode == 0
    assert crowdsim(["compare", tmp_path / "whole.h5", tmp_path / "part.h5"]).returncode == 0


def test_agents_come_in_on_their_storey_and_not_below(tmp_path):
    document = hall(
        flow(goals="out", storey="upper", region={"box": [16, 0, 20, 8]}),
        geometry={
            "storeys": [
                {"name": "ground", "elevation": 0, "walkable": {"box": [0, 0, 20, 8]}},
                {"name": "upper", "elevation": 3, "walkable": {"box": [0, 0, 20, 8]}},
            ],
            "connections": [
                {
                    "name": "stair",
                    "lower": "ground",
                    "upper": "upper",
                    "foot": [[3, 4], [3, 6]],
                    "head": [[8, 4], [8, 6]],
                }
            ],
        },
        goals={"out": {"exit": {"box": [0, 4, 0.3, 6]}, "storey": "ground"}},
        stop={"after": 90},
    )
    verdict = record(document, tmp_path / "run.h5")
    assert verdict.not_arrived == 0 and verdict.came > 40
    with library.open_run(tmp_path / "run.h5") as kept:
        first = first_places(kept)
    assert (first["z"] > 2.99).all()


def test_no_agent_comes_in_where_the_ground_is_closed(tmp_path):
    document = hall(
        flow(region={"box": [0, 0, 3, 2]}),
        events=[{"at": 5, "close": "corner"}, {"at": 15, "open": "corner"}],
    )
    document["geometry"]["areas"] = [{"name": "corner", "area": {"box": [0, 0, 3, 2]}}]
    verdict = record(document, tmp_path / "run.h5")
    assert verdict.not_arrived == 0
    with library.open_run(tmp_path / "run.h5") as kept:
        came = kept.events()
    ticks = came[came["kind"] == "SPAWN"]["tick"]
    assert not ((ticks > 110) & (ticks <= 295)).any() and (ticks > 300).any()


def test_obstacles_that_move_are_no_agents_and_come_behind_all_of_them():
    cart = {"name": "cart", "shape": {"disc": 0.5}, "path": [[5, 8], [15, 8]], "speed": 0.5, "loop": True}
    with Simulation(hall(flow(), obstacles=[cart])) as run:
        for _ in range(200):
            run.step()
        agents = run.world.agents
        assert agents.entity[-1] == FIRST_DISC and (np.diff(agents.entity) > 0).all()
        assert run.world.agent_count == len(agents) - 1 and len(agents) > 10
        names = run.agents.label
        assert names[0].startswith("flow[") and len(set(names)) == len(names)
        run.set_goal(names[3], "down")
        run.set_goal(int(run.agents.entity[4]), [5.0, 5.0])
        for _ in range(100):
            run.step()


def test_a_program_steers_takes_out_and_puts_back_agents_that_came(tmp_path):
    with Simulation(hall(flow(leave_on_arrival=True)), out=tmp_path / "run.h5") as run:
        for _ in range(100):
            run.step()
        who = run.agents.label[:4]
        run.switch_off(who[:2])
        run.remove_agents(who[2])
        for _ in range(40):
            run.step()
        run.switch_on(who[:2])
        run.set_speed(who[3], 0.7)
        for _ in range(100):
            run.step()
        assert {*who[:2]} <= {*run.agents.label} and who[2] not in run.agents.label
    assert crowdsim(["verify", tmp_path / "run.h5", "--threads", "2"]).returncode == 0


def test_a_run_whose_agents_come_for_ever_ends_well_if_nobody_is_stuck(tmp_path):
    document = hall(flow(arrive={"rate": 2}), stop={"after": 30})
    verdict = record(document, tmp_path / "run.h5")
    assert verdict.more_to_come and verdict.not_arrived > 5 and verdict.exit_code == 0
    assert set(verdict.reasons) <= {"on its way", "still waits for its path"}
    goals = {"up": {"region": {"box": [19, 6, 20, 10]}}, "down": {"region": {"box": [9.2, 1, 9.8, 4]}}}
    closed = hall(flow(arrive={"rate": 2}), stop={"after": 30}, goals=goals)
    closed["geometry"]["walkable"] = [{"box": [0, 0, 20, 10]}]
    closed["geometry"]["obstacles"] = [
        {"box": [9, 0, 9.1, 6]},
        {"box": [9.1, 5, 10, 6]},
        {"box": [9.9, 0, 10, 5]},
    ]
    verdict = record(closed, tmp_path / "closed.h5")
    assert verdict.exit_code == 3 and verdict.reasons["no path to its goal that is wide enough"] > 5


def test_what_is_kept_of_those_that_have_left_does_not_grow_with_time(monkeypatch):
    document = {
        "version": 1,
        "geometry": {"walkable": {"box": [0, 0, 8, 6]}},
        "goals": {"out": {"exit": {"box": [7, 0, 8, 6]}}},
        "groups": [{"name": "flow", "region": {"box": [1, 0, 3, 6]}, "goals": "out", "arrive": {"rate": 4}}],
        "stop": {"after": 30},
    }

    def run(saves):
        with Simulation(document) as run:
            for tick in range(600):
                if tick in saves:
                    run.state()
                run.step()
            kept = run.state()["ledger/guests/passages"]
            return kept, run.finish()

    exact, verdict = run(())
    monkeypatch.setattr(guests, "MOST_TIMES", 50)
    coarse, also = run(())
    assert len(coarse) <= 50 < len(exact) and coarse[:, 2].sum() == exact[:, 2].sum()
    assert np.array_equal(run((150, 151, 400))[0], coarse)  # however often it was made coarser
    ((was,), (found,)) = verdict.flows, also.flows
    assert found.people == was.people and found.per_m_s == pytest.approx(was.per_m_s, rel=0.03)


@pytest.mark.full
def test_a_hundred_people_a_second_come_and_go_for_an_hour_in_flat_memory(tmp_path):
    """Memory, what lives between ticks, and the work of ticks are in the last ten minutes what they are in
    the second ten.
    """
    import resource

    document = {
        "version": 1,
        "geometry": {"walkable": {"box": [0, 0, 60, 60]}},
        "goals": {"out": {"exit": {"box": [59, 0, 60, 60]}}},
        "groups": [
            {
                "name": "flow",
                "region": {"box": [20, 0, 40, 60]},
                "goals": "out",
                "arrive": {"rate": 100, "process": "poisson"},
            }
        ],
        "stop": {"after": 3600},
        "record": {"rate": 1, "columns": []},
    }
    with Simulation(document, out=tmp_path / "run.h5", threads=2) as run:
        memory, lives, there = [], [], []
        for _ in range(6):
            agents = 0.0
            for _ in range(12_000):
                run.step()
                agents += run.counts["agents"]
            there.append(agents / 12_000)
            lives.append(sum(array.nbytes for array in run.state().values()))
            memory.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
        verdict = run.finish()
    assert verdict.came == pytest.approx(360_000, rel=0.01) and verdict.waiting_outside == 0
    assert memory[-1] - memory[1] < 30_000  # kB
    assert lives[-1] < 1.1 * lives[1] and there[-1] < 1.05 * there[1]
