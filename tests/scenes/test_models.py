"""ClearPath and HRVO in whole runs: circles, head-on streams, a door;
with and without the symmetry breaker.
"""

import numpy as np
import pytest
import yaml

from tests.crowds import SCENARIOS, on_circle, room, simulation

SPEED = 1.34  # m/s, of those on circles
MODELS = ["clearpath", "hrvo"]


@pytest.mark.sample(1)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    "count, radius, bound",
    [(2, 5, 1.1), (8, 5, 1.1), (16, 5, 1.1), (24, 5, 1.2), (40, 10, 1.2), (80, 10, 1.4)],
)
def test_people_on_a_circle_change_places_almost_as_if_they_were_alone(model, count, radius, bound):
    ideal = 2.0 * radius / SPEED
    for seed in (None, 0):
        agents = on_circle(count, radius=radius, noise=0.05 if seed is not None else 0.0, seed=seed or 0)
        with simulation(room(agents, size=2 * radius + 10, after=60), sets=[f"avoidance={model}"]) as run:
            verdict = run.run()
        assert verdict.arrived == count, verdict.left
        assert verdict.last_arrival_s <= bound * ideal  # RVO2 needs 1.1 to 2.7 times the ideal
        assert verdict.deepest_overlap_m <= 0.01


@pytest.mark.sample(1)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("count", [2, 8, 16, 24])
def test_exact_circles_need_no_symmetry_breaker(model, count):
    with simulation(
        room(on_circle(count), after=60), sets=[f"avoidance={model}", "symmetry.enabled=false"]
    ) as run:
        verdict = run.run()
    assert verdict.arrived == count, verdict.left
    assert verdict.last_arrival_s <= 1.5 * 10.0 / SPEED
    assert verdict.symmetries_broken == 0


def lane_order(position, heading):
    """Order of lanes in the middle of the corridor:
    1 where every row of 0.3 m is walked one way, 0.4 at random.
    """
    inside = (position[:, 0] > 9.0) & (position[:, 0] < 29.0)
    row, way, total = np.floor(position[inside, 1] / 0.3), heading[inside], 0.0
    for one in np.unique(row):
        forth, back = np.count_nonzero(way[row == one] > 0), np.count_nonzero(way[row == one] < 0)
        total += (forth - back) ** 2 / (forth + back)
    return total / max(1, np.count_nonzero(inside))


def meet(model, seed):
    """(mean lane order from 10 s to 18 s, last arrival in s) of the shipped corridor."""
    document = yaml.safe_load((SCENARIOS / "head-on-corridor.yaml").read_text(encoding="utf-8"))
    with simulation({**document, "seed": seed}, sets=[f"avoidance={model}"]) as run:
        heading = dict(
            zip(
                run.agents.entity.tolist(),
                np.where(run.agents.position[:, 0] < 19.0, 1, -1).tolist(),
                strict=True,
            )
        )
        orders = []
        while not run.why_over():
            run.step()
            if 200 <= run.tick <= 360 and run.tick % 10 == 0:
                orders.append(
                    lane_order(
                        run.agents.position,
                        np.array([heading[entity] for entity in run.agents.entity.tolist()]),
                    )
                )
        verdict = run.verdict()
    assert verdict.not_arrived == 0
    return float(np.mean(orders)), verdict.last_arrival_s


@pytest.mark.full
@pytest.mark.sample(1)
@pytest.mark.parametrize("model", MODELS)
def test_streams_that_meet_head_on_form_lanes(model):
    found = [meet(model, seed) for seed in range(1, 6)]
    lasts = [last for _, last in found]
    assert sum(order >= 0.7 for order, _ in found) >= 4, found
    assert np.mean(lasts) <= 36.0 and max(lasts) <= (55.0 if model == "clearpath" else 45.0), found


ONE_WAITS = pytest.mark.xfail(
    reason="in two of 20 seeds, the fifth is one, an agent waits until all that come towards it have passed, "
    "and is out after 50 s; so it is without the breaker of symmetries (47 s)",
    strict=True,
)


@pytest.mark.full
@pytest.mark.sample(1)
@pytest.mark.parametrize("model", [pytest.param("clearpath", marks=ONE_WAITS), "hrvo"])
def test_all_of_streams_that_meet_head_on_are_out_within_45_s(model):
    assert max(meet(model, seed)[1] for seed in range(1, 6)) <= 45.0


@pytest.mark.sample(1)
@pytest.mark.parametrize("model", MODELS)
def test_a_door_lets_a_crowd_through_and_nobody_stays_behind(model):
    document = yaml.safe_load((SCENARIOS / "bottleneck.yaml").read_text(encoding="utf-8"))
    with simulation(document, sets=[f"avoidance={model}"]) as run:
        verdict = run.run()
    assert verdict.not_arrived == 0
    assert verdict.deepest_overlap_m <= 0.1  # measured: 0.04 and 0.07


def stuck_agent_seconds(sets, seed):
    """(agent-seconds stuck, last arrival in s) of a corridor that two crowds of 60 meet in."""
    document = yaml.safe_load((SCENARIOS / "head-on-corridor.yaml").read_text(encoding="utf-8"))
    document = {
        **document,
        "seed": seed,
        "groups": [{**group, "count": 60} for group in document["groups"]],
        "stop": {"after": 120, "when": "all_arrived"},
    }
    with simulation(document, sets=sets) as run:
        stuck = 0.0
        while not run.why_over():
            run.step()
            stuck += np.count_nonzero(run.agents.is_stuck) * document["tick"]
        verdict = run.verdict()
    assert verdict.not_arrived == 0
    return stuck, verdict.last_arrival_s


@pytest.mark.full
@pytest.mark.parametrize("seeds", [range(1, 9)], ids=len)
def test_fewer_are_stuck_than_with_the_plain_form(seeds):
    """One crowd more or less that jams makes ten seconds: two seeds tell little."""
    plain = [
        "avoidance=clearpath",
        "avoidance.tip=butt",
        "avoidance.side_bias=0",
        "avoidance.boundary_choice=nearest",
    ]
    before = np.array([stuck_agent_seconds(plain, seed) for seed in seeds])
    now = np.array([stuck_agent_seconds(["avoidance=clearpath"], seed) for seed in seeds])
    assert now[:, 0].sum() <= 0.2 * before[:, 0].sum()  # measured: 1 and 126
    assert now[:, 1].mean() < 0.8 * before[:, 1].mean()  # 46.7 and 61.7 s; over eight seeds 44.9 and 70.2
