"""Terrain in scenarios: people walk at its speed, take the quick way,
and planners that know nothing of it say so.
"""

import numpy as np
import pytest

from crowdsim.errors import ScenarioError
from crowdsim.scenario.load import parse_scenario
from crowdsim.simulation.simulation import Simulation
from crowdsim.world.events import EventKind
from tests.crowds import digests


def scene(terrain="", *, ground="[0, 0, 24, 12]", start="[1, 7]", goal="[23, 7]", more=""):
    return parse_scenario(f"""
version: 1
tick: 0.05
stop: {{after: 120}}
geometry:
  walkable: {{box: {ground}}}
  terrain: [{terrain}]
goals: {{there: {{point: {goal}, arrive_within: 0.2}}}}
groups:
  - {{name: one, positions: [{start}], speed: 1.3, goals: [there]}}
{more}
""")


PARK = "{name: grass, speed: 0.5, area: {box: [2, 2, 22, 12]}}"


def trail(text):
    """Positions of the only agent after each tick, what the search said of its way,
    and the time of its arrival.
    """
    with Simulation(text) as run:
        places, found = [run.world.agents.position[0].copy()], []
        while not run.why_over():
            found += [event.x for event in run.step() if event.kind == EventKind.PATH_FOUND]
            places += [run.world.agents.position[0].copy()] if len(run.world.agents) else []
        return np.array(places), found, run.verdict().last_arrival_s


@pytest.mark.sample(1)
@pytest.mark.parametrize("factor", [0.6, 1.4])
def test_people_walk_at_the_speed_of_the_terrain_and_at_their_own_beside_it(factor):
    places, found, arrival = trail(
        scene(
            f"{{name: strip, speed: {factor}, area: {{box: [5, 0, 15, 3]}}}}",
            ground="[0, 0, 24, 3]",
            start="[1, 1.5]",
            goal="[23, 1.5]",
        )
    )
    speed = np.diff(places[:, 0]) / 0.05
    middle = 0.5 * (places[1:, 0] + places[:-1, 0])
    assert speed[(middle > 5.5) & (middle < 14.5)] == pytest.approx(1.3 * factor, rel=0.01)
    assert np.median(speed[(middle > 16.0) & (middle < 22.0)]) == pytest.approx(1.3, rel=0.01)
    assert found == [pytest.approx(22.0, rel=0.01)]
    assert arrival == pytest.approx((21.8 - 10.0 + 10.0 / factor) / 1.3, rel=0.02)


def test_people_walk_round_the_grass_where_that_is_quicker_and_the_arrival_shows_it():
    round_it, _, quick = trail(scene(PARK))
    across, _, slow = trail(scene(PARK, more="navigation: {costs: length}"))
    assert round_it[:, 1].min() < 2.0 and across[:, 1].min() > 6.0
    assert quick < 0.75 * slow and slow == pytest.approx((1.8 + 20.0 / 0.5) / 1.3, rel=0.02)


def test_of_areas_that_overlap_the_last_in_the_list_counts():
    road = "{name: road, speed: 1.0, area: {box: [2, 6, 22, 8]}}"
    _, _, over = trail(scene(f"{PARK}, {road}"))
    assert over == pytest.approx(21.8 / 1.3, rel=0.02)
    with pytest.raises(ScenarioError, match='later terrain covers all of "road"'):
        scene(f"{road}, {PARK}")


def test_the_resolved_text_gives_the_same_run():
    text = scene(
        f"{PARK}, {{name: road, speed: 0.9, area: [{{box: [2, 6, 22, 8]}}, {{box: [1, 0, 3, 30]}}]}}"
    )
    again = parse_scenario(text.canonical())
    assert again.canonical() == text.canonical() and [each.name for each in again.geometry.terrain[0]] == [
        "grass",
        "road",
    ]
    with Simulation(text) as one, Simulation(again) as other:
        assert digests(one, 40) == digests(other, 40)


@pytest.mark.parametrize("kind", ["optimal", "visibility"])
def test_planners_that_know_no_speeds_refuse_terrain_and_say_what_to_do(kind):
    with pytest.raises(
        ScenarioError,
        match=(
            rf"navigation: {kind} looks for short paths and knows no speeds of ground.*grass.*\n.*Take "
            r"navigation: mesh or grid"
        ),
    ):
        Simulation(scene(PARK, more=f"navigation: {kind}"))
    text = scene(PARK, more=f"  - {{name: two, positions: [[3, 3]], goals: [there], navigation: {kind}}}")
    with pytest.raises(ScenarioError, match=rf"groups\[1\].navigation: {kind} looks for"):
        Simulation(text)
    with Simulation(
        scene("{name: square, speed: 1, area: {box: [2, 2, 22, 12]}}", more=f"navigation: {kind}")
    ) as run:
        run.step()


@pytest.mark.parametrize(
    ("terrain", "message"),
    [
        ("{name: sea, speed: 0.5, area: {box: [30, 0, 40, 5]}}", '"sea" has no walkable ground'),
        (
            (
                "{name: a, speed: 0.5, area: {box: [0, 0, 1, 1]}}, {name: a, speed: 0.6, area: {box: [1, 0, "
                "2, 1]}}"
            ),
            'there is terrain "a" on that floor already',
        ),
        ("{name: a, speed: 0, area: {box: [0, 0, 1, 1]}}", "speed"),
        ("{name: a, speed: 0.5, area: {box: [0, 0, 1, 1]}, storey: up}", "the geometry has none"),
    ],
)
def test_mistakes_are_told_in_one_sentence(terrain, message):
    with pytest.raises(ScenarioError, match=message):
        scene(terrain)


STAIRS = """
version: 1
tick: 0.05
stop: {{after: 200}}
geometry:
  storeys:
    - {{name: low, elevation: 0, walkable: {{box: [0, 0, 10, 12]}}}}
    - {{name: high, elevation: 2, walkable: {{box: [20, 0, 30, 12]}}}}
  connections:
    - {{name: stair, lower: low, upper: high, foot: [[10, 1], [10, 3]], head: [[20, 1], [20, 3]],
        speed_up: 0.4, speed_down: 1.0}}
    - {{name: ramp, kind: ramp, lower: low, upper: high, foot: [[10, 9], [10, 11]],
        head: [[20, 9], [20, 11]]}}
  terrain:
    - {{name: carpet, speed: 0.8, storey: high, area: {{box: [20, 8, 25, 12]}}}}
goals:
  bottom: {{point: [5, 3], arrive_within: 0.3, storey: low}}
  top: {{point: [25, 3], arrive_within: 0.3, storey: high}}
groups:
  - {{name: one, storey: {storey}, positions: [{start}], speed: 1.3, goals: [{goal}]}}
"""


@pytest.mark.full
@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("storey", "start", "goal", "floor"),
    [("low", "[5, 3]", "top", "ramp"), ("high", "[25, 3]", "bottom", "stair")],
)
def test_people_go_up_by_the_ramp_and_down_by_the_stair_where_that_is_quicker(storey, start, goal, floor):
    text = parse_scenario(STAIRS.format(storey=storey, start=start, goal=goal))
    with Simulation(text) as run:
        layers = set()
        while not run.why_over():
            run.step()
            layers |= set(run.world.agents.layer.tolist())
        assert run.verdict().arrived == 1
    names = {text.geometry.floor_names[layer] for layer in layers}
    assert floor in names and names <= {"low", "high", floor}
