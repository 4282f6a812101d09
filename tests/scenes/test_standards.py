"""Lanes, doors and the tests of RiMEA 4.1 that judge crowds, under ORCA,
with and without Weidmann's relation; docs/learn/models.md has every model's numbers.

What plain ORCA does not claim (a relation of speed and density) is not asked of it; what holds is held.
"""

import numpy as np
import pytest

from crowdsim.scenario.load import load_scenario
from crowdsim.simulation.simulation import Simulation
from tests.standards import (
    DOOR_WIDTHS,
    LONG,
    NARROW,
    PEOPLES_FLOW,
    RVO2_FLOW,
    STANDARDS,
    bottleneck,
    crowding,
    door,
    lanes,
    last_arrival,
    speed_at,
    steady_flow,
    watch,
)  # fmt: skip

WEIDMANN = ["speed_density=weidmann"]


def weidmann(density):
    return 1.34 * (1.0 - np.exp(-1.913 * (1.0 / density - 1.0 / 5.4)))


@pytest.mark.parametrize("path", sorted(STANDARDS.glob("*.yaml")), ids=lambda path: path.stem)
def test_the_scenes_load_and_say_what_they_are_for(path):
    scenario = load_scenario(path)
    assert scenario.name == path.stem and scenario.description


@pytest.mark.full
@pytest.mark.parametrize(
    "model",
    ["orca", pytest.param("hrvo", marks=pytest.mark.full), pytest.param("clearpath", marks=pytest.mark.full)],
)
def test_lanes_form(model):
    """Order 0.7 in four of five seeds, everybody out within 45 s in all."""
    outcomes = [lanes(seed, [f"avoidance={model}"]) for seed in range(1, 6)]
    assert sum(order >= 0.7 for order, _ in outcomes) >= 4
    assert all(verdict.not_arrived == 0 and verdict.last_arrival_s <= 45.0 for _, verdict in outcomes)


@pytest.mark.sample(1)
@pytest.mark.parametrize("model", ["hrvo", "clearpath"])
def test_lanes_form_in_one_seed(model):
    """Under HRVO somebody was walked back through the whole corridor with this seed, and out after 51 s,
    when people swerved by 0.3 of their speed.
    """
    order, verdict = lanes(4 if model == "hrvo" else 1, [f"avoidance={model}"])
    assert order >= 0.7 and verdict.not_arrived == 0 and verdict.last_arrival_s <= 45.0


def retreat(seed, sets=()):
    """Return how far an agent of the lane scene goes back at most, all its retreats together (m)."""
    table, _, run = watch("lanes", [f"seed={seed}", *sets])
    east = run.built.agents.group == [group.name for group in run.scenario.groups].index("eastbound")
    table = table.sort_values(["id", "frame"])
    steps = table.groupby("id")["x"].diff() * np.where(east[table["id"] - 1], 1.0, -1.0)
    return float((-steps.clip(upper=0.0)).groupby(table["id"]).sum().max())


@pytest.mark.full
def test_no_agent_is_pushed_back_through_the_corridor_by_those_that_come_towards_it():
    """Plain ORCA keeps an agent walking back that once stepped back: 17 m with the fourth seed."""
    farthest = [retreat(seed) for seed in range(1, 11)]
    assert np.mean(farthest) < 4.0 and max(farthest) < 6.0
    assert retreat(4, ["symmetry.retreat_time=3600"]) > 10.0


@pytest.mark.full
@pytest.mark.parametrize(
    "model",
    [
        "orca",
        *(
            pytest.param(model, marks=pytest.mark.full)
            for model in ("clearpath", "hrvo", "sampled-hrvo", "toi")
        ),
    ],
)
def test_a_crowd_and_one_half_as_large_pass_each_other_in_a_corridor(model):
    """Where everybody held its ground before those who come, 113 of 150 stood in the corridor for good under
    ORCA; without the breaker the last is out after 105 s.

    Under sampled-hrvo it took 309 s, while nobody stepped aside for those who touch it.
    """
    scenario = load_scenario(STANDARDS / "imo-8.yaml", sets=[f"avoidance={model}", "stop.after=150"])
    with Simulation(scenario) as run:
        verdict = run.run()
    assert verdict.not_arrived == 0, verdict.left


@pytest.mark.full
@pytest.mark.parametrize(("model", "late"), [("orca", 0), ("hrvo", 2)])
def test_everybody_gets_out_of_the_lanes_in_twenty_seeds(model, late):
    """Under HRVO one who is walked back through the corridor is out after 47 to 50 s in two of them,
    and before 45 s in all others.
    """
    verdicts = [lanes(seed, [f"avoidance={model}"])[1] for seed in range(1, 21)]
    assert all(verdict.not_arrived == 0 for verdict in verdicts)
    assert sum(verdict.last_arrival_s > 45.0 for verdict in verdicts) <= late, [
        verdict.last_arrival_s for verdict in verdicts
    ]


@pytest.mark.full
@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "width",
    [0.8, 1.2, pytest.param(1.0, marks=pytest.mark.full), pytest.param(1.6, marks=pytest.mark.full), 2.0],
)
def test_orcas_flow_through_a_door_is_that_of_rvo2_within_35_percent(width):
    flow = np.mean([door(width, seed)[0] for seed in (1, 2)])
    assert flow == pytest.approx(RVO2_FLOW[width], rel=0.35)


@pytest.mark.full
def test_with_weidmanns_relation_doors_let_through_what_people_let_through():
    """Specific flow 1.2 to 2.3 a second and metre, and more people a second the wider the door;
    means of five seeds.
    """
    flows = {
        width: np.mean([door(width, seed, WEIDMANN)[0] for seed in range(1, 6)]) for width in DOOR_WIDTHS
    }
    assert all(PEOPLES_FLOW[0] <= flow <= PEOPLES_FLOW[1] for flow in flows.values()), flows
    assert np.all(np.diff([width * flow for width, flow in flows.items()]) > 0.0), flows


@pytest.fixture(scope="module")
def steady_flows():
    """Return the specific flow by width of the door while a crowd of 200 stands before it,
    means of five seeds.
    """
    return {
        width: float(np.mean([steady_flow(width, seed, WEIDMANN) for seed in range(1, 6)]))
        for width in DOOR_WIDTHS
    }


@pytest.mark.full
@pytest.mark.parametrize("width", DOOR_WIDTHS)
def test_with_weidmanns_relation_a_standing_crowd_passes_doors_as_people_do(width, steady_flows):
    assert PEOPLES_FLOW[0] <= steady_flows[width] <= PEOPLES_FLOW[1], steady_flows


@pytest.mark.full
def test_with_weidmanns_relation_the_flow_rises_with_the_width_and_the_specific_flow_up_to_1_2_m(
    steady_flows,
):
    """Beyond 1.2 m the specific flow stays: a mean of five seeds is known to 0.05 there."""
    widths, flows = np.array(list(steady_flows)), np.array(list(steady_flows.values()))
    assert np.all(np.diff(widths * flows) > 0.0), steady_flows
    assert np.all(np.diff(flows[widths <= 1.2]) > 0.1), steady_flows
    assert np.all(np.abs(flows[widths > 1.2] - steady_flows[1.2]) <= 0.25), steady_flows


@pytest.mark.full
@pytest.mark.xfail(
    reason="from 1.2 m on it stays: 2.12, 2.17 and 2.16 in the mean of ten seeds, known to 0.04", strict=True
)
def test_with_weidmanns_relation_the_specific_flow_rises_with_the_width_of_the_door(steady_flows):
    assert np.all(np.diff(list(steady_flows.values())) > 0.0), steady_flows


@pytest.mark.full
def test_with_weidmanns_relation_a_door_of_1_2_m_is_in_the_band_and_without_it_is_not():
    flow, verdict = door(1.2, 1, WEIDMANN)
    assert PEOPLES_FLOW[0] <= flow <= PEOPLES_FLOW[1] and verdict.not_arrived == 0
    assert door(1.2, 1)[0] > PEOPLES_FLOW[1]


@pytest.mark.sample(1)
@pytest.mark.parametrize("density", [1.0, 2.0, 3.0, pytest.param(4.0, marks=pytest.mark.full)])
def test_rimea_4_speeds_follow_weidmanns_relation_where_it_is_asked_for(density):
    measured, speed = speed_at(density, WEIDMANN)
    assert speed == pytest.approx(weidmann(measured), abs=0.08)


JAMMED = pytest.mark.xfail(
    reason="1.19 m/s at four a square metre: people are in each other's way there without any relation",
    strict=True,
)


@pytest.mark.full
@pytest.mark.sample(1)
@pytest.mark.parametrize("density", [1.0, 2.0, 3.0, pytest.param(4.0, marks=[pytest.mark.full, JAMMED])])
def test_rimea_4_plain_orca_has_no_relation_of_speed_and_density(density):
    assert speed_at(density)[1] > 1.2


@pytest.mark.full  # by default the jam at the first of two bottlenecks is looked at
def test_rimea_12_a_longer_bottleneck_takes_longer_and_a_wider_one_lets_more_through():
    # arches come and go, so one run tells nothing: 31 and 35 s in the mean, each with 4 s of spread
    short, long = (
        [last_arrival("rimea-12", [*sets, f"seed={seed}"])["last_s"] for seed in range(1, 11)]
        for sets in ((), LONG)
    )
    assert np.mean(short) < np.mean(long), (short, long)
    flows = [bottleneck([box]) for box in NARROW.values()]
    assert flows[0] < flows[1] < flows[2]


@pytest.mark.full
def test_rimea_12_the_jam_is_at_the_first_of_two_bottlenecks():
    first, second = crowding()
    assert first > 2.0 * second


@pytest.mark.full
@pytest.mark.parametrize("sets", [pytest.param([], id="orca"), pytest.param(WEIDMANN, id="weidmann")])
def test_rimea_9_half_the_exits_take_1_4_to_2_4_times_as_long(sets):
    four, two = last_arrival("rimea-9", sets), last_arrival("rimea-9", ["groups.crowd.goals=two", *sets])
    assert four["left"] == two["left"] == 0
    assert 1.4 <= two["last_s"] / four["last_s"] <= 2.4


@pytest.mark.full
def test_rimea_15_a_corner_takes_longer_than_as_much_straight_on():
    straight, corner = last_arrival("rimea-15-straight"), last_arrival("rimea-15-corner")
    assert straight["left"] == corner["left"] == 0 and straight["last_s"] < corner["last_s"]
