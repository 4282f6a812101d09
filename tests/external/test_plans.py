"""Real and awkward floor plans: each loads, meshes and runs;
nobody leaves the ground or comes nearer to a wall than its body, everybody arrives or has a reason.
"""

import json

import numpy as np
import pytest
import shapely

from crowdsim.scenario.load import parse_scenario
from crowdsim.simulation.simulation import Simulation
from tests.external.data import DATA, need

PLANS = sorted(path.name for path in (DATA / "geometry").glob("*.wkt")) or ["missing"]
QUICK = [
    name
    for name in PLANS
    if any(part in name for part in ("BUW", "office", "triangular", "verwinkelt", "missing"))
]
RADIUS = 0.2
UTM = (400_000.0, 5_000_000.0)


def crowd_document(wkt, seed):
    """Return a scenario with min(200, one per square metre) agents at random places,
    sent to random places of the same connected part.
    """
    text = {
        "version": 1,
        "stop": {"after": 900, "stuck_for": 30},
        "geometry": {"walkable": {"wkt": wkt}},
        "record": {"rate": 1},
        "seed": seed,
        "tick": 0.05,
    }
    ground = parse_scenario(json.dumps({**text, "groups": []}), file="plan").geometry.walkable
    free = ground.buffer(-RADIUS - 0.02, quad_segs=32)
    parts = [part for part in shapely.get_parts(free) if part.area > 0.5]
    total = sum(part.area for part in parts)
    wanted = int(min(200, total))
    rng = np.random.default_rng(seed)
    agents, starts = [], np.zeros((0, 2))
    for part in parts:
        count = max(1, round(wanted * part.area / total))
        low, high = np.array(part.bounds[:2]), np.array(part.bounds[2:])
        points = rng.uniform(low, high, (4000 * count, 2))
        points = points[shapely.contains_xy(part, points[:, 0], points[:, 1])]
        for point in points:
            if count and np.all(np.hypot(*(starts - point).T) > 2 * RADIUS + 0.01):
                starts = np.vstack([starts, point])
                goal = points[rng.integers(len(points))]
                agents.append(
                    {"position": point.tolist(), "goals": [{"point": goal.tolist(), "arrive_within": 0.3}]}
                )
                count -= 1
    return {**text, "groups": [{"name": "all", "agents": agents, "radius": RADIUS, "speed": 1.34}]}


def run_plan(name, shift, seed=0):
    polygon = shapely.union_all(list(shapely.get_parts(shapely.from_wkt(need("geometry", name).read_text()))))
    wkt = shapely.to_wkt(shapely.transform(polygon, lambda xy: xy + np.array(shift)), rounding_precision=-1)
    scenario = parse_scenario(json.dumps(crowd_document(wkt, seed)), file=name)
    ground = scenario.geometry.walkable
    shapely.prepare(ground)
    walls = ground.boundary
    with Simulation(scenario) as run:
        while not run.why_over():
            run.step()
            if run.tick % 20 == 0 and len(run.agents):
                points = shapely.points(run.agents.position)
                assert np.all(shapely.covers(ground, points)), f"somebody left the ground at {run.time} s"
                assert np.all(shapely.distance(walls, points) >= run.agents.radius - 0.01), (
                    f"somebody is in a wall at {run.time} s"
                )
        verdict = run.verdict()
    assert verdict.arrived + verdict.not_arrived == verdict.agents
    assert verdict.not_arrived == 0, f"{verdict.reasons}, {verdict.left}"
    return verdict


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if "office" not in name else pytest.mark.full) for name in QUICK]
)
def test_a_crowd_walks_through_a_real_plan(name):
    assert run_plan(name, (0.0, 0.0)).arrived > 0


@pytest.mark.full
def test_a_plan_at_map_coordinates_works_as_well():
    need("geometry")
    assert run_plan(next(name for name in PLANS if "office" in name), UTM).arrived > 0


@pytest.mark.full
@pytest.mark.parametrize("shift", [(0.0, 0.0), UTM], ids=["", "utm"])
@pytest.mark.parametrize("name", PLANS)
def test_every_plan_runs(name, shift):
    assert run_plan(name, shift, seed=1).arrived > 0
