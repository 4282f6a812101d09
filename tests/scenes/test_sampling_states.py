"""The adaptive sampler against the 129 x 129 grid, on crowded states of a scenario's run:
within 2 % of its penalty in 95 % of states.
"""

import numpy as np
import pytest

from crowdsim.avoidance.model import CrowdView, empty_choice
from crowdsim.avoidance.sampling.sampled import SampledHrvo
from crowdsim.geometry.cells import CellIndex
from crowdsim.geometry.walls import no_walls
from crowdsim.kernels.threads import Team
from crowdsim.scenario.load import load_scenario
from crowdsim.simulation.simulation import Simulation
from tests.avoidance.sampling_states import states
from tests.crowds import SCENARIOS
from tests.reference import sampled as twin

# (scenario, ticks between looks, ticks in all): crowds that are dense at a door, in the middle of a crossing,
# and thin at the edges.
LEAST_DENSITY = 0.5
SCENES = (
    ("bottleneck", 5, 500),
    ("four-way-crossing", 10, 700),
    ("room-evacuation", 10, 1000),
    ("concourse", 100, 2000),
)


def snapshots(scene, every, ticks):
    """Views of the crowd in a run under the model itself, without walls:
    the figures are of states with neighbours.
    """
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
                    agents.entity.copy(), position, agents.velocity.copy(), agents.preferred_velocity.copy(),
                    agents.radius.copy(), agents.maximum_speed.copy(), np.ones(n, np.uint8),
                    np.zeros(n, np.int64), layer, CellIndex().build(position, layer), no_walls(),
                    np.full(n, np.inf, np.float32),
                )  # fmt: skip


def chosen(view, **parameters):
    out = empty_choice(len(view.entity))
    SampledHrvo(SampledHrvo.Parameters(**parameters)).choose(
        view._replace(reach=view.reach.copy()), 0.05, Team(1), out
    )
    return out


def density(view):
    """People a square metre in the disc that reaches to each one's eighth neighbour;
    0 where there are none within 5 m.
    """
    gaps = np.hypot(*(view.position[:, None] - view.position[None]).transpose(2, 0, 1)) + np.where(
        view.layer[:, None] == view.layer, 0.0, np.inf
    )
    eighth = np.sort(gaps, axis=1)[:, 8]
    return np.where(eighth < 5.0, 8.0 / (np.pi * eighth**2), 0.0)


def quality(scenes, wanted, seed=1):
    """Rows (density, good with 64, good with 100, samples used of 64,
    of 100) of states of at least 0.5 people a square metre, drawn from all looks.

    Good is a penalty within 2 % of the grid's or better; penalties are those of the twin, in float64.
    """
    views = [view for scene in scenes for view in snapshots(*scene)]
    crowded = [
        (number, row)
        for number, view in enumerate(views)
        for row in np.flatnonzero(density(view) >= LEAST_DENSITY)
    ]
    drawn = np.random.default_rng(seed).permutation(len(crowded))[:wanted]
    rows = []
    for number, view in enumerate(views):
        some = [int(crowded[k][1]) for k in drawn if crowded[k][0] == number]
        if some:
            dense, grid, few, many = (
                density(view),
                chosen(view, sampler="grid"),
                chosen(view),
                chosen(view, samples=100),
            )
            for row, state in states(view, twin.Numbers(), rows=some):
                least = state.penalty(tuple(grid.velocity[row]))
                good = [state.penalty(tuple(choice.velocity[row])) <= 1.02 * least for choice in (few, many)]
                rows.append((dense[row], *good, few.samples[row], many.samples[row]))
    return np.array(rows, dtype=np.float64)


def assert_good(rows):
    crowd, dense = rows[rows[:, 0] <= 1.2], rows[rows[:, 0] <= 2.6]
    text = (
        f"{len(rows)} states of {LEAST_DENSITY} a square metre or more. Up to 1.2 a square metre "
        f"({len(crowd)}): 64 samples good in {crowd[:, 1].mean():.1%}, {crowd[:, 3].mean():.1f} used; "
        f"up to 2.6 ({len(dense)}): 64 good in {dense[:, 1].mean():.1%}, 100 in {dense[:, 2].mean():.1%}, "
        f"{dense[:, 4].mean():.1f} used; "
        f"1.2 to 2.6: 100 good in {dense[dense[:, 0] > 1.2, 2].mean():.1%}; denser: 100 good in "
        f"{rows[rows[:, 0] > 2.6, 2].mean():.1%}"
    )
    print(text)  # noqa: T201  (pytest -s shows the figures)
    assert crowd[:, 1].mean() >= 0.95, text
    assert dense[:, 2].mean() >= 0.95, text
    assert dense[dense[:, 0] > 1.2, 2].mean() >= 0.95, text


def test_few_samples_come_near_the_whole_grid():
    rows = quality((("bottleneck", 40, 400), ("four-way-crossing", 60, 480)), 500)
    assert len(rows) == 500
    assert_good(rows)


@pytest.mark.full
def test_few_samples_come_near_the_whole_grid_in_ten_thousand_states():
    rows = quality(SCENES, 10_000)
    assert len(rows) == 10_000
    assert_good(rows)
