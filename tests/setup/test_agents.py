"""Agents are a function of the seed and of each one's identity."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import shapely

from crowdsim.errors import ScenarioError
from crowdsim.setup.agents import Agents, resolve_agents
from crowdsim.setup.draws import draw_distribution
from crowdsim.setup.identity import recorded
from crowdsim.world.random import Stream, agent_key
from tests.scenario.worlds import SMALL, load, with_line

ARRAYS = (
    "key",
    "id",
    "group",
    "index",
    "position",
    "radius",
    "desired_speed",
    "highest_speed",
    "start_tick",
    "symmetry_draw",
    "is_immovable",
)


def same(one: Agents, two: Agents) -> bool:
    # with nan in them
    itineraries = str([one.itineraries[number] for number in one.itinerary]) == str(
        [two.itineraries[number] for number in two.itinerary]
    )
    return (
        itineraries
        and [one.label(row) for row in range(len(one))] == [two.label(row) for row in range(len(two))]
        and all(np.array_equal(getattr(one, name), getattr(two, name)) for name in ARRAYS)
    )


def groups(*lines: str, seed: int = 1) -> str:
    return with_line("groups", "\n" + "".join(f"  - {line}\n" for line in lines)) + f"seed: {seed}\n"


def test_agents_come_in_the_order_of_identity_ids_first() -> None:
    scenario = load(SMALL)
    agents = resolve_agents(scenario)
    assert [agents.label(row) for row in range(7)] == [
        "#7",
        "#40",
        "guests[2]",
        "sitters[0]",
        "sitters[1]",
        "sitters[2]",
        "walkers[0]",
    ]
    assert len(agents) == 26
    assert agents.key[0] == agent_key("", 0, 7)
    assert agents.key[6] == agent_key("walkers", 0)
    assert agents.position[1].tolist() == [12.0, 4.0]
    assert agents.position[3:6].tolist() == [[1.0, 1.0], [2.0, 1.5], [2.0, 3.0]]
    assert agents.desired_speed[1] == 1.1
    assert agents.radius[2] == 0.15
    assert 5.0 <= agents.start_tick[2] * 0.05 <= 9.05
    assert set(agents.radius[:2]) <= {0.2, 0.3}
    assert [agents.itineraries[number].leaves for number in agents.itinerary] == [True] * 3 + [False] * 3 + [
        True
    ] * 20


def test_each_agent_has_its_own_list_of_goals() -> None:
    scenario = load(SMALL)
    agents = resolve_agents(scenario)
    own = [agents.itineraries[number] for number in agents.itinerary]
    names = [
        [
            (scenario.goals[goal].name, None if np.isnan(speed) else speed)
            for goal, speed in zip(each.goals, each.speeds, strict=True)
        ]
        for each in own
    ]
    assert names[0] == [("(12, 1) within 0.5 m", 0.9), ("door", None)]
    assert names[1] == [("door", None)]
    assert names[3] == [("(9, 1) within 0.3 m", None)]
    assert names[6] == [("seat", None), ("out", 1.5)]


def test_an_agent_may_start_in_the_first_tick_after_its_premovement_time() -> None:
    scenario = load(SMALL)
    agents = resolve_agents(scenario)
    groups_of = [scenario.groups[number] for number in agents.group]
    own = [
        group.listed[index].premovement if group.listed else None
        for group, index in zip(groups_of, agents.index, strict=True)
    ]
    premovement = np.array(
        [
            draw_distribution(
                mine or group.premovement, scenario.seed, int(Stream.PREMOVEMENT), agents.key[row : row + 1]
            )[0]
            for row, (mine, group) in enumerate(zip(own, groups_of, strict=True))
        ]
    )
    assert (agents.start_tick * 0.05 >= premovement - 1e-9).all() and premovement.max() > 5.0
    assert ((agents.start_tick - 1) * 0.05 < premovement).all()
    fixed = resolve_agents(load(groups("{name: a, count: 2, premovement: 0.3}") + "tick: 0.1\n"))
    assert fixed.start_tick.tolist() == [3, 3]


def test_listing_groups_in_another_order_changes_nothing() -> None:
    lines = [
        (
            f"{{name: g{n}, count: {20 + n}, region: {{box: [0, 0, 10, 8]}}, radius: {{uniform: {{low: "
            f"0.15, high: 0.25}}}}}}"
        )
        for n in range(6)
    ]
    first = resolve_agents(load(groups(*lines)))
    for seed in range(4):
        random.Random(seed).shuffle(lines)
        assert same(resolve_agents(load(groups(*lines))), first)


def test_listing_agents_with_ids_in_another_order_changes_nothing() -> None:
    agents = [
        f"{{id: {n}, speed: {{uniform: {{low: 1, high: 2}}}}, goals: {{point: [{1 + n % 7}, 1]}}}}"
        for n in range(0, 90, 3)
    ]
    first = resolve_agents(load(groups(f"{{name: a, agents: [{', '.join(agents)}]}}")))
    random.Random(1).shuffle(agents)
    again = resolve_agents(load(groups(f"{{name: a, agents: [{', '.join(agents)}]}}")))
    assert np.array_equal(first.id, again.id)
    assert np.array_equal(first.position, again.position)
    assert np.array_equal(first.desired_speed, again.desired_speed)


def test_what_is_drawn_for_an_agent_depends_on_no_other_agent() -> None:
    few = resolve_agents(load(groups("{name: b, count: 5}")))
    many = resolve_agents(load(groups("{name: a, count: 30, speed: 1}", "{name: b, count: 50}")))
    assert np.array_equal(few.desired_speed, many.desired_speed[30:35])


def test_another_seed_gives_other_agents() -> None:
    one, two = (resolve_agents(load(groups("{name: a, count: 40}", seed=seed))) for seed in (1, 2))
    assert not np.isclose(one.desired_speed, two.desired_speed).any()
    assert not np.isclose(one.position, two.position).all(axis=1).any()


def test_all_agents_start_apart_on_the_ground_and_in_their_regions() -> None:
    scenario = load(SMALL)
    agents = resolve_agents(scenario)
    points = shapely.points(agents.position)
    assert shapely.contains(scenario.geometry.walkable, points).all()
    assert shapely.contains(scenario.groups[2].region, points[agents.group == 2]).all()
    gaps = (
        np.hypot(*(agents.position[:, None] - agents.position[None]).transpose(2, 0, 1))
        - agents.radius[:, None]
        - agents.radius[None]
    )
    assert gaps[~np.eye(26, dtype=bool)].min() >= 0.0
    placed = np.ones(26, dtype=bool)
    placed[[1, 3, 4, 5]] = placed[2] = False  # these positions are given
    assert (shapely.distance(points, scenario.geometry.walkable.boundary) - agents.radius)[
        placed
    ].min() >= 0.01 - 1e-9


def problems(text: str) -> list[str]:
    with pytest.raises(ScenarioError) as caught:
        resolve_agents(load(text))
    return [str(problem) for problem in caught.value.problems]


def test_too_many_agents_are_refused_with_the_numbers_and_what_would_fit() -> None:
    assert problems(groups("{name: a, count: 2000}")) == [
        't.yaml:5:5: groups[0]: "a": 2,000 agents (radius 0.2 m) on 80 m2 are 25 a square metre, and their '
        "bodies would cover 314% of it: they cannot fit\n"
        "    About 445 fit there (70% covered); 2,000 need about 359 m2."
    ]
    (found,) = problems(
        groups(
            "{name: a, count: 55, region: {box: [0, 0, 2.9, 2.9]}, radius: {uniform: {low: 0.19, high: "
            "0.21}}}"
        )
    )
    assert re.match(
        r't.yaml:5:5: groups\[0\]: "a": 55 agents \(radii 0\.19 to 0\.2\d* m\) on 8\.41 m2 are 6\.54 a '
        r"square metre, and their bodies would cover 8\d% of it: "
        r"\d\d found room\n    About 4\d fit there \(70% covered\); 55 need about 9\.\d+ m2\.\Z",
        found,
    )


def test_what_a_message_says_would_fit_does_fit() -> None:
    assert len(resolve_agents(load(groups("{name: a, count: 445}")))) == 445


def test_groups_that_share_a_region_are_refused_together() -> None:
    found = problems(groups("{name: a, count: 400}", "{name: b, count: 400}"))
    assert [text.split(":")[2:4] for text in found] == [["5", " groups[0]"], ["5", " groups[1]"]]
    assert all("800 agents" in text for text in found)


def test_a_region_that_is_too_narrow_for_the_body_is_told() -> None:
    assert problems(groups("{name: a, count: 3, radius: 0.3, region: {box: [0, 0, 0.2, 8]}}")) == [
        't.yaml:5:5: groups[0]: "a": no point of the region was found that is 0.31 m from all walls (the '
        "radius and 1 cm)\n"
        "    Widen the region, or make the radius smaller."
    ]


def test_no_agents_at_all_is_possible() -> None:
    assert len(resolve_agents(load(with_line("groups", "[]")))) == 0
    assert (
        len(
            resolve_agents(
                load(groups("{name: a, count: 0}", "{name: b, agents: []}", "{name: c, positions: []}"))
            )
        )
        == 0
    )


@pytest.mark.parametrize(
    ("record", "labels"),
    [
        ("{}", 26),
        (
            "{agents: {every: 5}}",
            ["#7", "sitters[2]", "walkers[4]", "walkers[9]", "walkers[14]", "walkers[19]"],
        ),
        ("{agents: [7, sitters]}", ["#7", "sitters[0]", "sitters[1]", "sitters[2]"]),
        ("{agents: []}", []),
    ],
)
def test_recorded_agents_are_those_that_are_named(record: str, labels: int | list[str]) -> None:
    scenario = load(re.sub(r"record: .*", f"record: {record}", SMALL))
    agents = resolve_agents(scenario)
    chosen, every_row = recorded(scenario, agents), np.arange(len(agents))
    rows = every_row if chosen is None else every_row[chosen.among(agents.group, every_row + 1)]
    found = [agents.label(row) for row in rows]
    assert len(found) == labels if isinstance(labels, int) else found == labels


DIGEST = """
import hashlib, sys
import numpy as np
from tests.scenario.owners import fixed_owners
from tests.scenario.worlds import SMALL, load
from crowdsim.setup.agents import resolve_agents
with fixed_owners():
    agents = resolve_agents(load(SMALL.replace("count: 20", "count: 120")))
digest = hashlib.sha256()
for name in ("key", "position", "radius", "desired_speed", "start_tick"):
    digest.update(np.ascontiguousarray(getattr(agents, name)).tobytes())
print(digest.hexdigest())
"""


def digest(**environment: str) -> str:
    root = Path(__file__).resolve().parents[2]
    variables = {**os.environ, "PYTHONPATH": str(root), **environment}
    return subprocess.run(
        [sys.executable, "-c", DIGEST], cwd=root, env=variables, capture_output=True, text=True, check=True
    ).stdout


@pytest.fixture(scope="module")
def here() -> str:
    return digest()


@pytest.mark.full
@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "elsewhere",
    [
        pytest.param({"NUMBA_CPU_NAME": "generic"}, marks=pytest.mark.full),
        {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-FMA,-AVX2,-AVX2_Usable,-FMA_Usable"},
        {"NUMBA_DISABLE_JIT": "1"},
    ],
    ids=lambda given: next(iter(given)),
)
def test_agents_are_the_same_on_another_processor_and_without_compilation(
    here: str, elsewhere: dict[str, str]
) -> None:
    assert len(here) == 65 and digest(**elsewhere) == here


def test_a_count_beside_fewer_positions_is_one_message_and_no_crash():
    with pytest.raises(ScenarioError, match="count and positions are both given"):
        load(groups("{name: a, count: 20, positions: [[1, 1], [2, 1.5], [2, 3]]}"))
