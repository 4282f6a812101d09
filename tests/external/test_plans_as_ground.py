"""Real and awkward plans, made by others, become valid ground."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import shapely

from crowdsim.scenario.load import parse_scenario
from crowdsim.scenario.model import Scenario
from crowdsim.scenario.shapes import GRID_M, SLIVER_WIDTH_M
from crowdsim.setup.agents import resolve_agents
from tests.external.data import DATA, need, needs
from tests.scenario.owners import fixed_owners

FOLDER = DATA / "geometry"
PLANS = sorted(path.name for path in FOLDER.glob("*.wkt"))
pytestmark = needs(FOLDER)


@pytest.fixture(autouse=True, scope="module")
def _fixed_owners() -> Iterator[None]:
    with fixed_owners():
        yield


def scenario(name: str, agents: int = 0) -> Scenario:
    text = (
        f"version: 1\ngeometry: {{walkable: {{wkt_file: {name}}}}}\ngroups: [{{name: a, count: {agents}}}]\n"
    )
    return parse_scenario(text, folder=FOLDER)


def raw_polygons(name: str) -> list[shapely.Polygon]:
    def parts(geometry: shapely.Geometry) -> list[shapely.Polygon]:
        return (
            [geometry]
            if geometry.geom_type == "Polygon"
            else [part for each in geometry.geoms for part in parts(each)]
        )

    return parts(shapely.from_wkt((FOLDER / name).read_text()))


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_becomes_valid_oriented_ground_on_the_grid_of_the_same_area(name: str) -> None:
    ground = scenario(name).geometry.walkable
    raw = shapely.union_all(raw_polygons(name))
    assert ground.is_valid
    assert ground.geom_type == "Polygon"
    assert shapely.is_ccw(ground.exterior)
    assert not any(shapely.is_ccw(ring) for ring in ground.interiors)
    points = shapely.get_coordinates(ground)
    assert np.array_equal(points / GRID_M, np.round(points / GRID_M))
    assert abs(ground.area - raw.area) <= 1.5 * GRID_M * raw.length
    holes = [shapely.Polygon(ring) for part in shapely.get_parts(raw) for ring in part.interiors]
    # one plan has three that are 1 nm wide
    assert len(ground.interiors) == len(
        [hole for hole in holes if 2.0 * hole.area / hole.length > SLIVER_WIDTH_M]
    )
    if len(ground.interiors) == len(holes):
        assert shapely.hausdorff_distance(ground.boundary, raw.boundary) < 2 * GRID_M


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_survives_the_canonical_text(name: str) -> None:
    first = scenario(name, 10)
    again = parse_scenario(first.canonical())
    assert shapely.equals_exact(first.geometry.walkable, again.geometry.walkable)
    assert again.canonical() == first.canonical()


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", PLANS)
def test_agents_find_room_on_every_plan(name: str) -> None:
    ground = scenario(name).geometry.walkable
    count = min(1500, int(ground.area))  # one a square metre
    found = scenario(name, count)
    agents = resolve_agents(found)
    points = shapely.points(agents.position)
    assert shapely.contains(ground, points).all()
    assert shapely.distance(points, ground.boundary).min() >= 0.21 - 1e-9
    first, second = shapely.STRtree(points).query(points, predicate="dwithin", distance=0.4)
    assert (first == second).all()


def test_the_plan_of_a_town_can_be_had_from_its_polygons() -> None:
    """The street plan is a list of obstacles in the format of another simulator;
    its polygons are obstacles of ours.
    """
    path = need("geometry", "vadere_osm_03-Kaiserslautern-Klein.scenario")
    import json

    topography = json.loads(path.read_text())["scenario"]["topography"]
    bounds = topography["attributes"]["bounds"]
    width, height = bounds["width"], bounds["height"]
    obstacles = [
        [[point["x"], point["y"]] for point in each["shape"]["points"]] for each in topography["obstacles"]
    ]
    text = {
        "version": 1,
        "geometry": {
            "walkable": {"box": [0, 0, width, height]},
            "obstacles": [ring for ring in obstacles if shapely.Polygon(ring).is_valid],
        },
        "groups": [{"name": "a", "count": 500}],
    }
    found = parse_scenario(json.dumps(text))
    assert found.geometry.walkable.is_valid
    assert len(found.geometry.obstacles) > 90
    assert len(resolve_agents(found)) == 500
