"""Vehicles, looked at from their recorded positions."""

import numpy as np
import pytest
import shapely

import crowdsim
from crowdsim.errors import CrowdsimError, ScenarioError
from crowdsim.scenario.canonical import canonical_data
from crowdsim.scenario.load import as_scenario, load_scenario
from crowdsim.simulation.simulation import Simulation
from tests.crowds import SCENARIOS, assert_same_on_threads_and_from_saved_states

MODELS = ["orca", "clearpath", "hrvo", "sampled-hrvo", "none"]
CAR = {"length": 4.5, "width": 1.8, "turning_radius": 5}


def scene(size, goals, groups, **more):
    return {
        "version": 1,
        "seed": 1,
        "tick": 0.05,
        "geometry": {"walkable": {"box": [0, 0, *size]}},
        "goals": {name: {"exit": {"box": box}} for name, box in goals.items()},
        "groups": groups,
        "record": {"rate": 20},
        "stop": {"after": 90, "stuck_for": 30},
        **more,
    }


def car(name="car", place=(5, 10), goal="e", heading=(1, 0), **more):
    vehicle = {**CAR, "heading": list(heading), **more}
    return {"name": name, "positions": [list(place)], "goals": goal, "vehicle": vehicle}


def crossing(groups, **more):
    return scene((60, 20), {"e": [58, 5, 60, 15], "n": [28, 18, 32, 20]}, groups, **more)


class Seen:
    """What a run looked like from above: rectangles of vehicles, and discs of people."""

    def __init__(self, document, folder):
        document = {**document, "record": {**document.get("record", {}), "trace": True}}
        scenario = as_scenario(document)
        with Simulation(document, out=folder / "run.h5") as run:
            self.verdict = run.run()
        with crowdsim.open_run(folder / "run.h5") as kept:
            table = kept.trajectories(columns=["x", "y", "heading"])
            roster = kept.roster()
        table = table.merge(roster[["entity", "group_name", "radius"]], left_on="id", right_on="entity")
        self.own = own = {group.name: group.vehicle for group in scenario.groups if group.vehicle is not None}
        self.ground = scenario.geometry.grounds[0]
        self.people = table[~table.group_name.isin(own)]
        self.vehicles = table[table.group_name.isin(own)].copy()
        self.vehicles["body"] = [
            shapely.Polygon(
                [
                    (
                        row.x + a * row.heading_x - b * row.heading_y,
                        row.y + a * row.heading_y + b * row.heading_x,
                    )
                    for a, b in own[row.group_name].corners()
                ]
            )
            for row in self.vehicles.itertuples()
        ]

    def gap_to_people(self):
        """Return the least distance between a body and somebody's disc, m."""
        frames = dict(list(self.people.groupby("frame")))
        return min(
            float(
                np.min(
                    shapely.distance(shapely.points(frames[row.frame][["x", "y"]].to_numpy()), row.body)
                    - frames[row.frame].radius.to_numpy()
                )
            )
            for row in self.vehicles.itertuples()
            if row.frame in frames
        )

    def nearest_ahead(self):
        """Return the least distance from a front end to somebody's disc before it, while that front moves
        faster than 0.3 m/s; at most 5 m.
        """
        frames = dict(list(self.people.groupby("frame")))
        least = 5.0
        for _, rows in self.vehicles.groupby("id"):
            before = rows.iloc[0]
            for row in rows.itertuples():
                moved = np.hypot(row.x - before.x, row.y - before.y)
                before = row
                if moved * 20 > 0.3 and row.frame in frames:
                    own, people = self.own[row.group_name], frames[row.frame]
                    dx, dy = people.x.to_numpy() - row.x, people.y.to_numpy() - row.y
                    along = dx * row.heading_x + dy * row.heading_y - own.front
                    aside = np.abs(dy * row.heading_x - dx * row.heading_y)
                    ahead = (along > 0) & (aside < 0.5 * own.width)
                    least = min(least, np.min((along - people.radius.to_numpy())[ahead], initial=5.0))
        return least

    def gap_between(self):
        """Return the least distance between two vehicles, m."""
        return min(
            a.distance(b)
            for _, bodies in self.vehicles.groupby("frame").body
            for number, a in enumerate(bodies)
            for b in list(bodies)[number + 1 :]
        )


def curvature(track):
    """Return how sharply a track of (x, y, heading) turns at each place, 1/m: turn over length of the arc."""
    turn = np.arctan2(
        track[:-1, 2] * track[1:, 3] - track[:-1, 3] * track[1:, 2],
        np.sum(track[:-1, 2:] * track[1:, 2:], axis=1),
    )
    chord = np.hypot(*np.diff(track[:, :2], axis=0).T)
    moved = chord > 0.02
    half = 0.5 * np.abs(turn[moved])
    return np.where(half > 0, 2.0 * np.sin(half) / chord[moved], 0.0)


def test_the_lorry_gets_through_the_gate_and_waits_for_people(tmp_path):
    """Its rear axle turns no more sharply than 9 m, its rectangle meets no wall and nobody, and it swings out
    to the other side before it turns in.
    """
    seen = Seen({**canonical_data(load_scenario(SCENARIOS / "lorry.yaml")), "record": {"rate": 20}}, tmp_path)
    assert seen.verdict.ended == "all arrived"
    track = seen.vehicles[["x", "y", "heading_x", "heading_y"]].to_numpy()
    assert curvature(track).max() <= 1.0 / 9.0 + 1e-6
    # nobody turns the rear axle aside: it moves where the lorry looks
    along = np.diff(track[:, :2], axis=0)
    moved = np.hypot(*along.T) > 0.02
    aside = along[:, 0] * track[1:, 3] - along[:, 1] * track[1:, 2]
    assert np.all(np.abs(aside[moved]) <= 0.05 * np.hypot(*along[moved].T))
    assert max(body.difference(seen.ground).area for body in seen.vehicles.body) < 1e-6
    assert seen.gap_to_people() >= 0.0
    assert seen.nearest_ahead() >= 0.5
    assert track[:, 1].min() < 9.0  # from 12 it turns away from the gate in the north first


# Five models with one seed, and ten seeds with one model.
CROWDS = [(model, 1) for model in MODELS] + [
    pytest.param("orca", seed, marks=[] if seed == 2 else pytest.mark.full) for seed in range(2, 11)
]


@pytest.mark.sample(2)
@pytest.mark.parametrize(("model", "seed"), CROWDS)
def test_a_car_brakes_for_people_that_cross(model, seed, tmp_path):
    """Whatever model leads them: no body touches a disc, nobody is near before it while it drives, and all
    get there that avoid anything.
    """
    people = {
        "name": "p", "count": 30, "region": {"box": [24, 1, 40, 6]}, "goals": "n",
        "premovement": {"uniform": {"low": 0, "high": 12}},
    }  # fmt: skip
    seen = Seen(crossing([car(), people], avoidance=model, seed=seed), tmp_path)
    assert model == "none" or seen.verdict.ended == "all arrived"
    assert seen.gap_to_people() >= 0.0
    assert seen.nearest_ahead() >= 0.5


def test_a_car_stands_a_metre_before_somebody_and_goes_on(tmp_path):
    person = {"name": "p", "positions": [[30, 10]], "goals": "n", "premovement": 15}
    seen = Seen(crossing([car(), person]), tmp_path)
    stands = seen.vehicles[seen.vehicles.frame == 14 * 20].body.iloc[0]
    assert 0.8 <= stands.distance(shapely.Point(30, 10)) - seen.people.radius.iloc[0] <= 1.5
    assert seen.verdict.ended == "all arrived"


def test_of_two_cars_that_cross_the_second_waits(tmp_path):
    document = scene(
        (60, 60),
        {"e": [58, 25, 60, 35], "n": [25, 58, 35, 60]},
        [car("a", (5, 30)), car("b", (30, 5), "n", (0, 1))],
    )
    seen = Seen(document, tmp_path)
    last = seen.vehicles.groupby("group_name").frame.max()
    assert seen.verdict.ended == "all arrived"
    assert seen.gap_between() > 0.5
    assert last["b"] > last["a"] + 20


def test_two_that_meet_in_a_lane_stand_and_the_verdict_says_before_which(tmp_path):
    document = scene(
        (60, 4),
        {"e": [58, 0, 60, 4], "w": [0, 0, 2, 4]},
        [car("a", (10, 2)), car("b", (50, 2), "w", (-1, 0))],
    )
    seen = Seen(document, tmp_path)
    assert seen.verdict.ended == "all that are left are stuck"
    assert seen.gap_between() > 0.5
    reasons = {each.agent: each.reason for each in seen.verdict.left}
    assert reasons["a[0]"].startswith("stands before b[0] since 3")
    assert reasons["b[0]"].startswith("stands before a[0] since 3")


def lane(**more):
    return scene((40, 9), {"w": [0, 3, 1, 6]}, [car("a", (20, 4.5), "w", **more)])


def test_a_car_that_can_drive_backwards_turns_where_another_cannot(tmp_path):
    with pytest.raises(
        ScenarioError, match=r"too sharp for a body of 4.5 x 1.8 m with a turning radius of 5 m"
    ):
        Simulation(lane())
    seen = Seen(lane(reverse=True), tmp_path)
    assert seen.verdict.ended == "all arrived"
    track = seen.vehicles[["x", "y", "heading_x", "heading_y"]].to_numpy()
    along = np.sum(np.diff(track[:, :2], axis=0) * track[1:, 2:], axis=1)
    assert along.min() < -0.01  # backwards for a while
    assert max(body.difference(seen.ground).area for body in seen.vehicles.body) < 1e-6


def test_it_stands_before_an_area_that_closes_until_that_opens(tmp_path):
    document = crossing([car()])
    document["geometry"]["areas"] = [{"name": "bar", "area": {"box": [30, 0, 31, 20]}}]
    document["events"] = [{"at": 1, "close": "bar"}, {"at": 20, "open": "bar"}]
    seen = Seen(document, tmp_path)
    before = seen.vehicles[seen.vehicles.frame == 19 * 20].body.iloc[0]
    assert 0.5 <= 30.0 - before.bounds[2] <= 2.0
    assert seen.verdict.ended == "all arrived"


def test_it_keeps_off_ground_that_its_group_does_not_use(tmp_path):
    document = crossing([{**car(), "navigation": {"kind": "mesh", "forbid": ["lawn"]}}])
    document["geometry"]["terrain"] = [{"name": "lawn", "area": {"box": [20, 4, 40, 16]}}]
    seen = Seen(document, tmp_path)
    assert seen.verdict.ended == "all arrived"
    lawn = shapely.box(20, 4, 40, 16)
    assert max(body.intersection(lawn).area for body in seen.vehicles.body) < 1e-6


def test_it_speeds_up_brakes_and_slows_down_in_curves_as_it_can(tmp_path):
    document = scene((60, 60), {"n": [40, 57, 60, 60]}, [car("a", (5, 20), "n")])
    seen = Seen(document, tmp_path)
    track = seen.vehicles[["x", "y", "heading_x", "heading_y"]].to_numpy()
    speed = np.hypot(*np.diff(track[:, :2], axis=0).T) * 20
    change = np.diff(speed) * 20
    turns = np.abs(track[:-1, 2] * track[1:, 3] - track[:-1, 3] * track[1:, 2]) > 1e-6
    assert speed.max() == pytest.approx(5.0, abs=0.01)
    assert speed[turns].max() <= np.sqrt(2.0 * 5.0) + 0.05
    assert change.max() <= 1.0 + 0.05
    assert change[:-1].min() >= -2.5 - 0.2  # a tick may hold the end of an arc


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"count": 3}, "vehicles have no count"),
        ({"speed": 2}, "vehicles have no speed"),
        ({"keys": ["red"]}, "vehicles have no keys"),
        ({"leave_on_arrival": False}, "vehicles leave where they arrive"),
        ({"goals": ["e", "n"]}, "a vehicle drives to one goal, which is an area"),
        ({"goals": "spot"}, "a vehicle drives to one goal, which is an area"),
        ({"vehicle": {**CAR, "overhang": 5}}, "of 5 m is not less than the length, 4.5 m"),
        ({"vehicle": {**CAR, "width": 5}}, "5 m is more than the length, 4.5 m"),
        ({"vehicle": {**CAR, "turning_radius": 60}}, "60 m is more than 10 lengths of 4.5 m"),
        ({"vehicle": {**CAR, "heading": [0, 0]}}, r"\[0, 0\] is no direction"),
        ({"navigation": {"kind": "mesh", "forbid": ["all"]}}, "its navigation leaves no ground there"),
        ({"positions": [[0.5, 10]]}, "its body of 4.5 x 1.8 m meets a wall where it stands"),
    ],
)
def test_what_a_vehicle_cannot_have_is_refused(change, says):
    document = crossing([{**car(), **change}])
    document["goals"]["spot"] = {"point": [50, 10]}
    document["geometry"]["terrain"] = [{"name": "all", "area": {"box": [0, 0, 60, 20]}}]
    with pytest.raises(ScenarioError, match=says):
        Simulation(document)


def test_no_program_leads_a_vehicle():
    with Simulation(crossing([car()])) as run:
        run.step()
        with pytest.raises(CrowdsimError, match="is a vehicle: it drives along its curve"):
            run.set_goal("car[0]", "n")


def test_what_is_written_back_is_the_same_scenario():
    given = as_scenario(crossing([car(reverse=True, overhang=1.2)]))
    again = as_scenario(canonical_data(given))
    assert canonical_data(again) == canonical_data(given)
    assert again.groups[0].vehicle == given.groups[0].vehicle


def test_the_same_for_any_threads_and_from_saved_states():
    document = canonical_data(load_scenario(SCENARIOS / "lorry.yaml"))
    assert_same_on_threads_and_from_saved_states(document, 260, (0, 1, 60, 160, 235))


def test_people_ride_beside_vehicles_and_a_saved_state_holds_both():
    """Both are off the floor, for different reasons."""
    document = crossing([car(), {"name": "p", "count": 6, "region": {"box": [1, 1, 6, 6]}, "goals": "n"}])
    document["connections"] = {
        "belt": {
            "passage": {
                "ends": [{"area": {"box": [7, 1, 9, 3]}}, {"area": {"box": [28, 15, 30, 17]}}],
                "time": 2,
            }
        }
    }
    with Simulation(document) as run:
        riding = 0
        for _ in range(120):
            run.step()
            riding = max(riding, int(np.count_nonzero(run.world.agents.ride_step > 0)))
    assert riding
    assert_same_on_threads_and_from_saved_states(document, 140, (0, 60, 100, 120))
