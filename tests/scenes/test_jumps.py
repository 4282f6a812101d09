"""Agents that jump, and those that follow them, looked at from their recorded positions."""

import numpy as np
import pytest

import crowdsim
from crowdsim.cli import main
from crowdsim.errors import CrowdsimError, ScenarioError
from crowdsim.measures import rides
from crowdsim.saved import SavedError
from crowdsim.scenario.canonical import canonical_data
from crowdsim.scenario.jumps import Jumps
from crowdsim.scenario.load import as_scenario, load_scenario
from crowdsim.simulation.simulation import Simulation
from tests.crowds import SCENARIOS, assert_same_on_threads_and_from_saved_states

PLANNERS = ["mesh", "optimal", "visibility", "hierarchical", "grid", "s2-grid"]
MODELS = ["orca", "clearpath", "hrvo", "sampled-hrvo", "none"]
PEOPLE = Jumps(4, 60.0, 1, 1.0, 3.0, 0.4, 6.0, 4.0)
GAP = {"walkable": [{"box": [0, 0, 8, 6]}, {"box": [8.8, 0, 20, 6]}]}


def gap(groups, **more):
    """Return two halls with a gap of 0.8 m between them, and no other path over it."""
    return {
        "version": 1,
        "seed": 2,
        "geometry": GAP,
        "goals": {"east": {"exit": {"box": [19, 2, 20, 4]}}},
        "groups": groups,
        "jumps": {"lasts": 8},
        "stop": {"after": 60},
        **more,
    }


def crowd(count=6, **more):
    return {"name": "w", "count": count, "region": {"box": [1, 1, 6, 5]}, "goals": "east", **more}


JUMPER = {"name": "j", "positions": [[7.6, 3]], "goals": "east"}


def in_air(seen, low, high):
    """Return of each agent the frames in which it is between two x, as first and last."""
    own = seen[seen["x"].between(low, high)]
    return own.groupby("id")["frame"].agg(["min", "max"])


def jumped_from(path):
    """Return where the first one that jumped by itself took off, (2,) m."""
    with crowdsim.open_run(path) as kept:
        events = kept.events()
    first = events[events["kind"] == "JUMPED"].iloc[0]
    own = events[(events["kind"] == "BOARDED") & (events["entity"] == first["entity"])]
    return own[own["tick"] == first["tick"]][["x", "y"]].to_numpy()[0]


@pytest.mark.parametrize("distance", [0.3, 1.0, 1.7, 2.4, 4.0])
@pytest.mark.parametrize("fall", [-0.2, 0.0, 0.5, 3.0])
def test_a_body_that_leaves_the_ground_as_fast_as_that_lands_there(distance, fall):
    time = PEOPLE.seconds(distance, fall)
    rise = np.sqrt(2.0 * 9.81 * PEOPLE.spring)  # as fast as one can leave it, or slower
    why = PEOPLE.why_not(distance, fall)
    # dropped in small steps with the speed that it takes, it is there when the time is over
    wanted, z, steps = 0.5 * 9.81 * time - fall / time, 0.0, 20_000
    up = wanted
    for _ in range(steps):
        up, before = up - 9.81 * time / steps, up
        z += 0.5 * (up + before) * time / steps
    assert z == pytest.approx(-fall, abs=1e-9)
    assert wanted >= -1e-9 and distance / time <= PEOPLE.speed + 1e-9
    assert bool(why) == (wanted > rise)


def test_limits_are_said_with_their_numbers():
    assert PEOPLE.why_not(7.0, 3.0) == "it is 7.00 m away, and nobody jumps farther than 6 m"
    assert PEOPLE.why_not(1.0, 5.0) == "it is 5.00 m down, and nobody jumps deeper than 4 m"
    assert "leave the ground upwards at 4.91 m/s" in PEOPLE.why_not(3.0, 0.0)


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.full) for seed in range(2, 11))])
def test_one_jumps_out_of_the_window_and_others_follow_while_they_can(tmp_path, seed):
    scenario = load_scenario(SCENARIOS / "window.yaml", sets=[f"seed={seed}"])
    with Simulation(scenario, out=tmp_path / "run.h5") as run:
        assert run.run().arrived == 31
    with crowdsim.open_run(tmp_path / "run.h5") as kept:
        seen, fps = kept.trajectories(), 1.0 / (kept.header.tick_s * kept.header.ticks_per_frame)
    # out of the window: between the wall of the hall and where they land; down the stair: west of the hall
    by_window = in_air(seen, 24.0, 25.9).index[in_air(seen, 24.0, 25.9)["min"] < 45 * fps]
    by_stair = seen.loc[seen["x"] < -1.0, "id"].unique()
    others = seen.loc[seen["z"].between(0.01, 2.99), "id"].unique()
    assert set(by_window) | set(by_stair) >= set(others)
    flights = in_air(seen[seen["id"].isin(by_window) & ~seen["id"].isin(by_stair)], 24.0, 25.9)
    first = flights["min"].min()
    assert 10 < len(flights) < 31 and len(by_stair) == 31 - len(flights)
    assert flights.loc[1, "min"] == first  # the bold one
    starts = np.sort(flights["min"].to_numpy())
    assert (np.diff(starts) >= fps * 1.0 - 1).all()  # one a second
    assert starts[-1] <= first + 20.5 * fps  # then it is gone
    assert (flights["max"] - flights["min"] <= 0.9 * fps).all()
    # first in, first out, in the order in which they stood there
    table = rides(tmp_path / "run.h5")
    jumped = table[(table["connection"] == "jump 1") & (table["outcome"] == "rode")]
    assert len(jumped) == len(flights)
    order = jumped.sort_values("boarded_s")
    assert order["joined_s"].is_monotonic_increasing
    # the bold one jumps from where it stands; others run up to there as fast as they fly then
    begin = jumped_from(tmp_path / "run.h5")
    flight = PEOPLE.seconds(float(np.hypot(*(begin - [26.0, 7.0]))), 3.0)
    took = order["rode_s"].to_numpy()
    assert took[0] == pytest.approx(np.ceil(flight / 0.05) * 0.05)
    assert (took[1:] >= took[0] - 1e-9).all() and (took <= flight + 1.2 / 2.9 + 0.05).all()
    # nobody is ever put anywhere: in the air they are as fast as that, on the floor as they like
    moved = seen.sort_values(["id", "frame"]).groupby("id")[["x", "y"]].diff()
    assert np.hypot(moved["x"], moved["y"]).max() * fps <= 3.2
    # all of them come down on the ground beside the house, clear of its wall
    landed = seen.merge(flights["max"].rename("frame") + 2, on=["id", "frame"])
    assert landed["x"].between(24.5, 29.0).all() and (landed["z"] == 0.0).all()


@pytest.mark.sample(1)
@pytest.mark.parametrize("navigation", PLANNERS)
@pytest.mark.parametrize("model", MODELS)
def test_under_every_planner_and_model_they_follow(tmp_path, navigation, model):
    document = gap([crowd(), JUMPER], navigation=navigation, avoidance=model)
    with Simulation(document, out=tmp_path / "run.h5") as run:
        for _ in range(20):
            run.step()
        run.jump("j[0]", [9.2, 3])
        assert run.run().arrived == 7
    with crowdsim.open_run(tmp_path / "run.h5") as kept:
        seen = kept.trajectories()
    for _, own in seen.groupby("id"):  # nobody is in the gap but where the portal lies
        over = own[own["x"].between(8.0, 8.8)]
        assert len(over) and over["y"].between(2.4, 3.6).all()


@pytest.mark.parametrize("count", [40, pytest.param(200, marks=pytest.mark.full)])
def test_a_crowd_follows_one_after_the_other_without_a_pause(tmp_path, count):
    document = gap(
        [crowd(count, region={"box": [1, 1, 17, 19]}), {**JUMPER, "positions": [[19.6, 10]]}],
        geometry={"walkable": [{"box": [0, 0, 20, 20]}, {"box": [20.8, 0, 34, 20]}]},
        goals={"east": {"exit": {"box": [33, 6, 34, 14]}}},
        jumps={"lasts": 400},
        stop={"after": 400},
    )
    with Simulation(document, out=tmp_path / "run.h5") as run:
        run.step()
        run.jump("j[0]", [21.2, 10])
        assert run.run().arrived == count + 1
    with crowdsim.open_run(tmp_path / "run.h5") as kept:
        seen, dt = kept.trajectories(), kept.header.tick_s * kept.header.ticks_per_frame
    over = np.sort(in_air(seen, 20.0, 20.8)["min"].to_numpy()) * dt
    # from the third on there is always one that waits: one a headway, give or take the run-up
    assert len(over) == count + 1
    assert np.diff(over).min() >= 1.0 - 1.2 / 2.0 and np.diff(over)[2:].max() <= 1.0 + 1.2 / 2.0
    assert (over[-1] - over[2]) / (count - 2) == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("floor", [[1, 2]], "floors are 0 to 1"),
        ("floor", [[-1, 0]], "floors are 0 to 1"),
        ("seconds", [0.0], "a jump takes a time"),
        ("left_by", [0], "an agent has left each portal"),
    ],
)
def test_a_portal_that_cannot_be_is_not_taken_up(name, value, says):
    hall = {"elevation": 0, "walkable": {"box": [0, 0, 8, 6]}}
    geometry = {"storeys": [{**hall, "name": "low"}, {**hall, "name": "high", "elevation": 2}]}
    goals = {"east": {"region": {"box": [1, 1, 2, 2]}, "storey": "low"}}
    document = gap([{**JUMPER, "storey": "high"}], geometry=geometry, goals=goals)
    with Simulation(document) as run:
        run.step()
        run.jump("j[0]", [7.6, 4], storey="low")
        state = run.state()
    state[f"world/portals/{name}"][:1] = value
    with Simulation(document) as run, pytest.raises(SavedError, match=says):
        run.restore(state)


def test_those_that_are_left_when_it_is_gone_say_so_and_hear_of_the_next(tmp_path):
    jumps = {"lasts": 4, "speed": 9}
    with Simulation(gap([crowd(12), JUMPER], jumps=jumps), out=tmp_path / "run.h5") as run:
        run.step()
        run.jump("j[0]", [9.2, 3])
        for _ in range(300):
            run.step()
        left = run.verdict().left
        assert 5 < len(left) < 12
        assert {each.reason for each in left} == {"no path to its goal that is wide enough"}
        # one of them dares a long jump: the others take hope again
        run.jump(max(left, key=lambda each: each.x).agent, [9.2, 3])
        for _ in range(10):
            run.step()
        reasons = [each.reason for each in run.verdict().left]
        assert sum("jump 2" in each or "jump 1" in each for each in reasons) >= len(left) - 2, reasons
    with crowdsim.open_run(tmp_path / "run.h5") as kept:
        events = kept.events()
    gone = events[events["kind"] == "PORTAL_GONE"]
    assert gone.loc[gone["entity"] == 0, "tick"].tolist()[0] == 2 + 80
    assert (gone["entity"] > 0).sum() >= len(left)


def test_of_more_portals_than_may_lie_there_the_oldest_goes(tmp_path):
    jumpers = [
        {"name": f"j{number}", "agents": [{"position": [7.6, 1 + 2 * number]}], "goals": "east"}
        for number in range(3)
    ]
    # nobody follows: the others may not
    groups = [*jumpers, crowd(4, excludes=["jump"])]
    with Simulation(gap(groups, jumps={"lasts": 50, "at_most": 2}), out=tmp_path / "run.h5") as run:
        for number in range(3):
            run.step()
            run.jump(f"j{number}[0]", [9.2, 1 + 2 * number])
        for _ in range(40):
            run.step()
        left = run.verdict().left
        assert len(left) == 7 and sum(each.reason == "no path, uses no jump" for each in left) in (0, 4)
    with crowdsim.open_run(tmp_path / "run.h5") as kept:
        events, seen = kept.events(), kept.trajectories()
    gone = events[events["kind"] == "PORTAL_GONE"]
    assert gone[["x", "y"]].to_numpy().tolist() == [pytest.approx([7.6, 1.0], abs=0.2)]
    last = seen[seen["frame"] == seen["frame"].max()]
    assert (last["x"] > 8.8).sum() == 3  # who was in the air when the first one went has landed too


def test_who_jumps_where_a_portal_lies_leaves_no_other(tmp_path):
    stays = {"name": "stays", "positions": [[7.6, 2.55]], "goals": "east", "excludes": ["jump"]}
    with Simulation(gap([JUMPER, stays], jumps={"lasts": 5})) as run:
        run.step()
        run.jump("j[0]", [9.2, 3])
        first = run.state()
        for _ in range(60):
            run.step()
        run.jump("stays[0]", [9.2, 3])
        then = run.state()
    lies_there = [each["world/portals/is_open"] for each in (first, then)]
    assert lies_there[0].sum() == 1 and np.array_equal(*lies_there)
    until = [int(each["world/portals/until"][0]) for each in (first, then)]
    assert until == [2 + 100, 62 + 100]


def test_a_program_is_told_why_one_cannot_jump():
    with Simulation(gap([crowd(1), JUMPER])) as run:
        run.step()
        for to, says in (
            ([8.4, 3], "does not fit on the ground there"),
            ([11.5, 3], "leave the ground upwards at"),
            ([15, 3], "nobody jumps farther than 6 m"),
        ):
            with pytest.raises(CrowdsimError, match=says):
                run.jump("j[0]", to)
        with pytest.raises(CrowdsimError, match="leave out storey and height"):
            run.jump("j[0]", [9.2, 3], height=1)
        run.jump("j[0]", [9.2, 3])
        with pytest.raises(CrowdsimError, match="on no ground"):
            run.jump("j[0]", [9.2, 3])
    document = gap([crowd(1)])
    document.pop("jumps")
    with Simulation(document) as run, pytest.raises(CrowdsimError, match=r"jumps: \{\}"):
        run.jump("w[0]", [9.2, 3])


def test_a_machine_that_cannot_jump_goes_on_as_it_says_or_tries_again(tmp_path):
    machines = {
        "cannot": {
            "states": {"j": {"jump": {"point": [15, 3]}, "cannot": "w"}, "w": {"wait": 1, "then": "end"}}
        },
        "waits": {"states": {"j": {"jump": {"point": [9.2, 3]}, "then": "o"}, "o": {"leave": "east"}}},
    }
    groups = [
        {"name": "cannot", "positions": [[2, 5]], "behaviour": "cannot"},
        {"name": "waits", "positions": [[7.6, 2.6], [7.6, 3.05], [7.2, 2.8]], "behaviour": "waits"},
    ]
    jumps = {"lasts": 8, "speed": 4}
    with Simulation(gap(groups, behaviours=machines, jumps=jumps), out=tmp_path / "run.h5") as run:
        run.run()
    with crowdsim.open_run(tmp_path / "run.h5") as kept:
        events = kept.events()
    states = events[events["kind"] == "STATE"]
    assert states.loc[states["entity"] == 1, "value"].mod(32).tolist() == [0, 2, 1]
    # one portal, over which one is in the air at a time: the others try again until they can
    jumped = events[events["kind"] == "JUMPED"]
    assert sorted(jumped["entity"]) == [2, 3, 4] and jumped["value"].nunique() == 1
    assert (np.diff(np.sort(jumped["tick"])) >= 5).all()
    assert sorted(events.loc[events["kind"] == "ARRIVAL", "entity"]) == [2, 3, 4]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            {"jumps": None, "behaviours": {"m": {"states": {"j": {"jump": {"point": [9.2, 3]}}}}}},
            "nobody jumps",
        ),
        ({"behaviours": {"m": {"states": {"j": {"jump": "east"}}}}}, "no point, but a jump ends at one"),
        (
            {
                "connections": {
                    "jump 1": {"passage": {"ends": [{"area": {"box": [1, 1, 2, 2]}}] * 2, "time": 1}}
                }
            },
            "is what a portal of jumps is called",
        ),
        ({"jumps": {"at_most": 33}}, "at_most"),
        ({"jumps": {"speed": 0}}, "speed"),
    ],
)
def test_what_cannot_be_is_refused_when_the_scenario_is_read(change, says):
    groups = (
        [{"name": "w", "positions": [[2, 2]], "behaviour": "m"}] if "behaviours" in change else [crowd(1)]
    )
    with pytest.raises(ScenarioError, match=says):
        as_scenario({**gap(groups), **change})


def test_nobody_jumps_in_a_scenario_that_does_not_say_how():
    machine = {"m": {"states": {"j": {"jump": {"point": [9.2, 3]}}}}}
    document = gap([{"name": "w", "positions": [[2, 2]], "behaviour": "m"}], behaviours=machine)
    document.pop("jumps")
    with pytest.raises(ScenarioError, match=r"nobody jumps in this scenario[^$]*jumps: \{\}"):
        as_scenario(document)


def test_threads_and_saved_states_change_nothing():
    scenario = load_scenario(SCENARIOS / "window.yaml")
    assert_same_on_threads_and_from_saved_states(
        canonical_data(scenario), 560, (140, 152, 158, 160, 300, 535)
    )


def test_a_run_with_jumps_is_verified_and_resumed_while_one_is_in_the_air(tmp_path):
    document = gap([crowd(8), JUMPER], jumps={"lasts": 3})
    with Simulation(document, out=tmp_path / "run.h5") as run:
        for _ in range(10):
            run.step()
        run.jump("j[0]", [9.2, 3])
        state = run.state()
        for _ in range(6):
            run.step()
        assert 8.0 < run.agents.position[run.agents.label.index("j[0]"), 0] < 9.0
        in_the_air = run.state()
        verdict = run.run()
    assert verdict.arrived >= 3
    for begin, ticks in ((state, 10), (in_the_air, 16)):
        with Simulation(document) as other:
            other.restore(begin)
            assert other.tick == ticks
            assert other.run().arrived == verdict.arrived
            assert other.digest == run.digest
    with pytest.raises(SystemExit) as ended:
        main(["verify", str(tmp_path / "run.h5")])
    assert ended.value.code == 0
