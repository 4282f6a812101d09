"""Two lifts of eight in a tower of six storeys carry as many as the formula for a round trip says, while they
fill: from recorded events, over ten seeds.

A cabin that leaves the hall full makes a round of ``2 H t`` for its way (H is the highest storey that one of
eight wants, t the time for a storey), and stops at S storeys and in the hall, each for the doors and those
that go in or out, but at least for its dwell.
"""

from math import comb

import numpy as np
import pytest

from crowdsim.recording.opening import open_run
from crowdsim.scenario.load import load_scenario
from crowdsim.simulation.simulation import Simulation
from tests.crowds import SCENARIOS

STOREYS, CAPACITY = 5, 8  # above the hall
STOREY_S, DOORS_S, DWELL_S, TRANSFER_S = 2.0, 2.0, 3.0, 1.0
SEEDS = range(1, 11)


def round_trip():
    """Return the mean time of a round of a full cabin, s."""
    highest = STOREYS - sum((storey / STOREYS) ** CAPACITY for storey in range(1, STOREYS))
    share = 1.0 / STOREYS
    chance = [comb(CAPACITY, k) * share**k * (1.0 - share) ** (CAPACITY - k) for k in range(CAPACITY + 1)]
    stops = sum(
        STOREYS * chance[k] * (2.0 * DOORS_S + max(DWELL_S, k * TRANSFER_S)) for k in range(1, CAPACITY + 1)
    )
    return 2.0 * highest * STOREY_S + 2.0 * DOORS_S + max(DWELL_S, CAPACITY * TRANSFER_S) + stops


def rounds(path):
    """Return the times between full loads that leave the hall, of each lift, s; and the longest wait, s."""
    with open_run(path) as run:
        events, tick_s = run.events(), run.header.tick_s
    found = []
    boarded = events[events.kind == "BOARDED"]
    for lift in (0, 1):
        ticks = np.sort(boarded.tick[boarded.value == 1024 * lift].to_numpy())
        loads = np.split(ticks, np.flatnonzero(np.diff(ticks) * tick_s > 10.0) + 1)
        full = [len(load) == CAPACITY for load in loads]
        last = [load[-1] * tick_s for load in loads]
        found += [b - a for a, b, x, y in zip(last, last[1:], full, full[1:], strict=False) if x and y]
    waits = events[events.kind == "WAITS_AT"].drop_duplicates("entity").set_index("entity").tick
    went = boarded.drop_duplicates("entity").set_index("entity").tick
    return np.array(found), float((went - waits).max()) * tick_s


def means(folder, seeds):
    every = []
    for seed in seeds:
        path = folder / f"{seed}.h5"
        with Simulation(load_scenario(SCENARIOS / "tower.yaml", sets=[f"seed={seed}"]), out=path) as run:
            assert run.run().arrived == 200
        times, longest = rounds(path)
        assert len(times) >= 12 and longest < 600.0  # nobody starves: 200 are carried up in some 800 s
        every.append(times.mean())
    return np.array(every)


@pytest.mark.full
def test_the_mean_round_of_ten_seeds_is_that_of_the_formula(tmp_path):
    found = means(tmp_path, SEEDS)
    said = f"{found.mean():.2f} s +- {found.std(ddof=1):.2f}; formula {round_trip():.2f} s"
    assert abs(found.mean() / round_trip() - 1.0) < 0.05, said
