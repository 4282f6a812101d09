"""Several models in one run: everybody is seen by everybody, whatever the models are,
and nothing depends on order or threads.
"""

import copy

import numpy as np
import pytest

from tests.crowds import BUSY, digests, room, simulation

TICKS = 60
MIXED = copy.deepcopy(BUSY)
MIXED["groups"][1]["avoidance"] = {"model": "orca", "time_horizon": 1.0}
MIXED["groups"][2]["avoidance"] = "none"


@pytest.fixture(scope="module")
def expected():
    with simulation(MIXED) as run:
        assert len(run.scenario.models) == 3
        return digests(run, TICKS)


def test_the_models_change_the_run(expected):
    with simulation() as run:
        assert digests(run, TICKS) != expected


@pytest.mark.sample(1)
@pytest.mark.parametrize("threads", [2, 3, 7])
def test_the_number_of_threads_changes_nothing(threads, expected, monkeypatch):
    with simulation(MIXED, threads=threads) as run:
        monkeypatch.setattr("crowdsim.kernels.threads.WORTH_NS", 0)
        assert digests(run, TICKS) == expected


def test_listing_groups_in_another_order_changes_nothing(expected):
    document = copy.deepcopy(MIXED)
    document["groups"] = document["groups"][::-1]
    with simulation(document) as run:
        assert digests(run, TICKS) == expected


def test_naming_groups_so_that_their_models_come_in_another_order_changes_no_velocity():
    places = {}
    for names in (("a", "b"), ("b", "a")):
        document = room([])
        document["groups"] = [
            {
                "name": names[0],
                "agents": [{"id": 1, "position": [-5, 0.1], "goals": [{"point": [5, 0.1]}]}],
                "avoidance": "orca",
            },
            {
                "name": names[1],
                "agents": [{"id": 2, "position": [5, 0], "goals": [{"point": [-5, 0]}]}],
                "avoidance": "none",
            },
        ]
        with simulation(document, sets=["symmetry.enabled=false"]) as run:
            for _ in range(100):
                run.step()
            places[names] = run.agents.position.copy()
    assert np.array_equal(places["a", "b"], places["b", "a"])


def test_saving_and_loading_changes_nothing(expected):
    with simulation(MIXED) as run:
        digests(run, TICKS // 2)
        state = run.state()
    with simulation(MIXED) as other:
        other.restore(state)
        assert digests(other, TICKS - TICKS // 2) == expected[TICKS // 2 :]


def test_one_who_heeds_others_goes_round_one_who_does_not():
    """The one without avoidance walks straight through;
    the other gives way, though only half of what it would take alone.
    """
    document = room([])
    document["groups"] = [
        {
            "name": "gives_way",
            "agents": [{"id": 1, "position": [-5, 0.05], "goals": [{"point": [5, 0.05]}]}],
            "avoidance": "orca",
            "speed": 1.2,
        },
        {
            "name": "straight_on",
            "agents": [{"id": 2, "position": [5, 0], "goals": [{"point": [-5, 0]}]}],
            "avoidance": "none",
            "speed": 1.2,
        },
    ]
    with simulation(document) as run:
        least, straight, aside = np.inf, 0.0, 0.0
        while not run.why_over():
            run.step()
            position = run.agents.position
            if len(position) == 2:
                least = min(least, float(np.hypot(*(position[0] - position[1]))))
                aside, straight = max(aside, abs(position[0, 1] - 0.05)), max(straight, abs(position[1, 1]))
        verdict = run.verdict()
    assert verdict.arrived == 2 and least > 0.39 and straight < 0.02 and aside > 0.25


def test_groups_whose_models_are_equal_run_as_one():
    document = copy.deepcopy(BUSY)
    for group in document["groups"]:
        group["avoidance"] = {"model": "orca", "time_horizon": 1.5}
    with simulation(document) as several, simulation(sets=["avoidance.time_horizon=1.5"]) as one:
        assert len(several.scenario.models) == 1
        assert digests(several, 20) == digests(one, 20)
