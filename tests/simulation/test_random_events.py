"""Whatever is done to a run from outside, under whatever planner, model and budget, it is the same on two
threads and from a state that was saved at any time; nobody leaves the ground, and no number is lost.
"""

import json

import numpy as np
import pytest

from crowdsim.errors import CrowdsimError
from crowdsim.scenario.load import load_scenario
from crowdsim.simulation.simulation import Simulation
from tests.crowds import LARGE, SCENARIOS

TICKS, LAST_CUT = 60, 48
NAMES = sorted(path.stem for path in SCENARIOS.glob("*.yaml") if path.stem not in {*LARGE, "open-10000"})
NAVIGATIONS = [
    *((kind, wait) for kind in ("mesh", "optimal") for wait in ("guess", "previous", "stay")),
    *((kind, wait) for kind in ("visibility", "hierarchical") for wait in ("guess", "previous")),
    *(("grid", wait) for wait in ("keep", "guess", "previous", "stay")),
    *(("s2-grid", wait) for wait in ("keep", "guess")),
]
MODELS = ("orca", "sampled-hrvo", "clearpath", "toi", "hrvo", "none")
BUDGETS = (None, 20, 300, 3000)


def drawn_scenario(rng):
    """A shipped scenario with another planner, model and budget; some combinations are refused, with a
    reason, and then others are drawn.
    """
    while True:
        kind, wait = NAVIGATIONS[rng.integers(len(NAVIGATIONS))]
        sets = [
            f"navigation={json.dumps({'kind': kind, 'while_waiting': wait})}",
            f"avoidance={MODELS[rng.integers(len(MODELS))]}",
        ]
        work = BUDGETS[rng.integers(len(BUDGETS))]
        if work is not None:
            sets.append(f"budget.work={work}")
        try:
            return load_scenario(SCENARIOS / f"{NAMES[rng.integers(len(NAMES))]}.yaml", sets=sets)
        except CrowdsimError:
            continue


def drawn_events(run, rng):
    """What is done before a tick: names of methods, and arguments."""
    agents, scenario, todo = run.world.agents, run.scenario, []
    while rng.random() < 0.35 and len(agents):
        ids = np.sort(rng.choice(agents.entity, min(len(agents), rng.integers(1, 12)), replace=False))
        place = agents.position[rng.integers(len(agents))]
        goals, areas, obstacles = scenario.goals, scenario.geometry.areas, scenario.obstacles
        choices = {
            "goal": ("set_goal", ids, goals[rng.integers(len(goals))].name if goals else None),
            "another goal": ("set_goal", ids, goals[rng.integers(len(goals))].name if goals else None),
            "point": ("set_goal", ids, place.tolist()),
            "none": ("set_goal", ids[:2], None),
            "lead": ("set_preferred_velocity", ids[:4], rng.normal(0.0, 1.0, 2).tolist()),
            "let go": ("set_preferred_velocity", ids, None),
            "radius": ("set_radius", ids[:3], float(rng.uniform(0.1, 0.35))),
            "speed": ("set_speed", ids[:3], float(rng.uniform(0.3, 2.5))),
            "remove": ("remove_agents", ids[:1]),
            "move": ("move_agents", ids[:1], (place + rng.normal(0.0, 1.0, 2)).tolist()),
        }
        if areas:
            name = areas[rng.integers(len(areas))].name
            choices["door"] = ("set_area_available", name, bool(rng.random() < 0.5))
        if obstacles:
            choices["obstacle"] = ("remove_obstacle", obstacles[rng.integers(len(obstacles))].name)
        todo.append(choices[rng.choice(list(choices))])
    return todo


def step(run, todo):
    """Do what is to be done, make a tick, and return the digest; what cannot be done is refused."""
    for name, *arguments in todo:
        try:
            getattr(run, name)(*arguments)
        except CrowdsimError:
            continue
    run.step()
    return run.digest


@pytest.mark.sample(6)
@pytest.mark.parametrize("seed", range(300))
def test_a_run_to_which_things_happen_is_the_same_on_two_threads_and_from_a_saved_state(seed):
    """States of agents that waited for a path could not be loaded: on a guess over cells, in a door that was
    shut; and over points of visibility, on a path that they kept to. The latter could be an error at once.
    """
    rng = np.random.default_rng(seed)
    scenario, cut = drawn_scenario(rng), int(rng.integers(5, LAST_CUT))
    log, found, state = [], [], {}
    with Simulation(scenario) as run:
        for tick in range(TICKS):
            if tick == cut:
                state = run.state()
            log.append(drawn_events(run, rng))
            found.append(step(run, log[-1]))
            agents = run.world.agents
            for column in (agents.position, agents.velocity, agents.preferred_velocity):
                assert np.isfinite(column).all()
            assert (run.world.polygons() >= 0).all()
    with Simulation(scenario, threads=2) as run:
        assert [step(run, todo) for todo in log] == found
    with Simulation(scenario) as run:
        run.restore(state)
        assert [step(run, todo) for todo in log[cut:]] == found[cut:]
