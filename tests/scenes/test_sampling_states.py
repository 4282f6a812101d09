"""The adaptive sampler against the 129 x 129 grid, on crowded states of a scenario's run: the figures of SYSTEMS row A3."""

import math

import numpy as np
import pytest

from crowdsim.avoidance.model import CrowdView, empty_choice
from crowdsim.avoidance.sampled import SampledHrvo
from crowdsim.geometry.cells import CellIndex
from crowdsim.geometry.walls import no_walls
from crowdsim.scenario.load import load_scenario
from crowdsim.schedule.simulation import Simulation
from crowdsim.threads import Team
from tests.avoidance.sampling_states import states
from tests.crowds import SCENARIOS
from tests.reference import sampled as twin

# (scenario, ticks between looks, ticks in all): crowds that are dense at a door, in the middle of a crossing, and thin at the edges.
SCENES = (("bottleneck", 20, 500), ("four-way-crossing", 20, 600), ("room-evacuation", 40, 1000), ("concourse", 60, 2000))


def snapshots(scene, every, ticks):
    """Views of the crowd in a run under the model itself, without walls: the figures are of states with neighbours."""
    scenario = load_scenario(SCENARIOS / f"{scene}.yaml", sets=["avoidance=sampled-hrvo"])
    with Simulation(scenario, threads=1) as run:
        for _ in range(ticks):
            if run.why_over():
                return
            run.step()
            agents = run.world.agents
            if run.tick % every == 0 and len(agents) > 20:
                position, layer = agents.position.copy(), agents.layer.copy()
                n = len(position)
                yield CrowdView(
                    agents.entity.copy(), position, agents.velocity.copy(), agents.preferred_velocity.copy(), agents.radius.copy(), agents.maximum_speed.copy(),
                    np.ones(n, np.uint8), np.zeros(n, np.int64), layer, CellIndex().build(position, layer), no_walls(), np.full(n, np.inf, np.float32),
                )  # fmt: skip


def chosen(view, **parameters):
    out = empty_choice(len(view.entity))
    SampledHrvo(SampledHrvo.Parameters(**parameters)).choose(view._replace(reach=view.reach.copy()), 0.05, Team(1), out)
    return out


def density_of(state):
    """People a square metre in the disc that reaches to the eighth neighbour."""
    return 8.0 / (math.pi * max(math.hypot(*other.centre) for other in state.neighbours) ** 2)


def quality(scenes, wanted, seed=1):
    """Rows (density, good with 64, good with 100, samples used of 64, of 100) of `wanted` states with 8 neighbours, drawn from all looks.

    Good is a penalty within 2 % of the grid's or better; penalties are those of the twin, in float64.
    """
    rng, rows = np.random.default_rng(seed), []
    views = [view for scene in scenes for view in snapshots(*scene)]
    share = 1.3 * wanted / sum(len(view.entity) for view in views)
    for view in views:
        some = np.flatnonzero(rng.random(len(view.entity)) < share)
        grid, few, many = chosen(view, sampler="grid"), chosen(view), chosen(view, samples=100)
        for row, state in states(view, twin.Numbers(), rows=some.tolist()):
            if len(state.neighbours) == 8 and len(rows) < wanted:
                least = state.penalty(tuple(grid.velocity[row]))
                good = [state.penalty(tuple(choice.velocity[row])) <= 1.02 * least for choice in (few, many)]
                rows.append((density_of(state), *good, few.samples[row], many.samples[row]))
    return np.array(rows, dtype=np.float64)


def assert_good(rows):
    crowd, dense = rows[rows[:, 0] <= 1.2], rows[rows[:, 0] <= 2.6]
    text = (
        f"{len(rows)} states. Up to 1.2 a square metre ({len(crowd)}): 64 samples good in {crowd[:, 1].mean():.1%}, {crowd[:, 3].mean():.1f} used; "
        f"up to 2.6 ({len(dense)}): 64 good in {dense[:, 1].mean():.1%}, 100 in {dense[:, 2].mean():.1%}, {dense[:, 4].mean():.1f} used; "
        f"1.2 to 2.6: 100 good in {dense[dense[:, 0] > 1.2, 2].mean():.1%}; denser: 100 good in {rows[rows[:, 0] > 2.6, 2].mean():.1%}"
    )
    print(text)  # noqa: T201  (pytest -s shows the figures)
    assert crowd[:, 1].mean() >= 0.95, text
    assert dense[:, 2].mean() >= 0.95, text
    assert dense[dense[:, 0] > 1.2, 2].mean() >= 0.95, text


def test_few_samples_come_near_the_whole_grid():
    rows = quality((("bottleneck", 40, 400), ("four-way-crossing", 60, 480)), 500)
    assert len(rows) >= 300
    assert_good(rows)


@pytest.mark.full
def test_few_samples_come_near_the_whole_grid_in_ten_thousand_states():
    rows = quality(SCENES, 10_000)
    assert len(rows) >= 9_000
    assert_good(rows)
