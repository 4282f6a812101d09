"""A made city: the same seed gives the same one, its ground is connected, and it loads as a scenario."""

import json
import re

import numpy as np
import pytest
import shapely

from crowdsim.errors import CrowdsimError, ScenarioError
from crowdsim.geometry import made_city
from crowdsim.geometry.made_city import make_city
from crowdsim.kernels import disk_cache
from crowdsim.navigation.mesh.build import build_mesh
from crowdsim.plans.city import city_files
from crowdsim.scenario.check import GroundCheck
from crowdsim.scenario.load import load_scenario, parse_scenario
from crowdsim.setup.build import build_world
from tests.cli.command import crowdsim


@pytest.mark.parametrize("seed", range(4))
def test_all_ground_of_a_city_is_connected_and_no_two_houses_touch(seed):
    city = make_city(1200.0, seed)
    assert city.ground.is_valid and city.ground.geom_type == "Polygon"
    houses = [shapely.Polygon(hole) for hole in city.ground.interiors]
    assert city.ground.area == pytest.approx(1200.0**2 - shapely.area(houses).sum())
    assert len(np.unique(build_mesh(city.ground).mesh.polygon_part)) == 1
    assert all(city.ground.contains(shapely.Point(square).buffer(5.0)) for square in city.squares)


def test_the_same_seed_gives_the_same_city_to_the_last_digit_and_another_another():
    first, again, other = (city_files("town", make_city(800.0, seed), 10, 1) for seed in (3, 3, 4))
    assert first == again and first["town-ground.wkt"] != other["town-ground.wkt"]


def test_a_city_has_streets_that_are_not_all_along_its_net():
    """Else paths over it would be those on a grid."""
    city = make_city(2000.0)
    sides = np.concatenate([np.diff(hole.coords, axis=0) for hole in city.ground.interiors])
    turned = np.degrees(np.arctan2(sides[:, 1], sides[:, 0])) % 90.0
    length = np.hypot(*sides.T)
    off_the_net = np.minimum(turned, 90.0 - turned) > 22.5
    assert 0.02 < length[off_the_net].sum() / length.sum() < 0.5
    assert any(len(hole.coords) > 8 for hole in city.ground.interiors)  # a house round a court


def test_houses_and_polygons_grow_with_the_area_of_a_city():
    """10 km have some 84,000 polygons in one piece, and more than 100,000 in tiles of 250 m."""
    small, large = make_city(1000.0), make_city(2000.0)
    assert 3.5 < len(large.ground.interiors) / len(small.ground.interiors) < 4.5
    assert 700 < build_mesh(small.ground).mesh.polygon_count < 1000


@pytest.mark.parametrize(
    "size, block, words",
    [
        (150.0, 100.0, "no room for 2 blocks of 100 m"),
        (1000.0, 20.0, "blocks of 20 m are too small"),
        (float("nan"), 100.0, "no room"),
        (1000.0, float("nan"), "too small"),
        (1e6, 100.0, "100,000,000 blocks of 100 m, and 50,000 are the most"),
    ],
)
def test_sizes_that_cannot_be_are_refused_with_a_way_out(size, block, words):
    with pytest.raises(CrowdsimError, match=words):
        make_city(size, block=block)


def city_scenario(**city):
    return {
        "version": 1,
        "geometry": {"walkable": {"city": city}},
        "goals": {"out": {"region": {"box": [0, 0, 500, 8]}}},
        "groups": [{"name": "people", "count": 5, "goals": "out"}],
    }


def test_a_scenario_may_ask_for_a_city_and_its_recording_has_the_ground_itself():
    scenario = parse_scenario(json.dumps(city_scenario(size=500, seed=2)))
    own = {**city_scenario(), "geometry": {"walkable": {"wkt": make_city(500.0, 2).ground.wkt}}}
    assert scenario.geometry.walkable.equals_exact(load_scenario(own).geometry.walkable)
    written = scenario.canonical()
    assert "city:" not in written and parse_scenario(written).canonical() == written
    assert len(build_world(scenario).agents) == 5


def test_the_ground_of_a_large_city_is_made_once_and_read_to_the_last_digit(monkeypatch, tmp_path):
    monkeypatch.setattr(disk_cache, "cache_directory", lambda: tmp_path)
    made = []
    monkeypatch.setattr(made_city, "make_city", lambda *given: made.append(given) or make_city(*given))
    first, again = (made_city.ground_of_city(2000.0, 3) for _ in range(2))
    assert first.wkb == again.wkb == make_city(2000.0, 3).ground.wkb and len(made) == 1
    assert made_city.ground_of_city(2000.0, 4).wkb != first.wkb
    assert made_city.ground_of_city(500.0, 3).wkb == make_city(500.0, 3).ground.wkb  # is not kept
    assert len(list((tmp_path / "cities").glob("*.arrays"))) == 2


def test_ground_is_not_widened_to_check_it_where_nothing_asks(monkeypatch):
    """That takes ten seconds for a city of 10 km."""
    monkeypatch.setattr(GroundCheck, "_near", property(lambda check: pytest.fail("widened")))
    parse_scenario(json.dumps(city_scenario(size=500)))


@pytest.mark.parametrize(
    "city, words",
    [
        ({"size": 100}, "a city of 100 m has no room for 2 blocks of 100 m"),
        ({"size": 5e6}, "2,500,000,000 blocks of 100 m, and 50,000 are the most"),
        ({"size": 500, "block": 20}, "blocks of 20 m are too small"),
        ({"size": 500, "seed": -1}, "geometry.walkable.city.seed"),
        ({"seed": 1}, 'geometry.walkable.city: the key "size" is missing'),
    ],
)
def test_a_city_that_cannot_be_is_one_problem_with_its_place_and_a_way_out(city, words):
    with pytest.raises(ScenarioError, match=re.escape(words)) as error:
        parse_scenario(json.dumps(city_scenario(**city)), file="town.yaml")
    (problem,) = error.value.problems
    assert problem.line == 1 and problem.file == "town.yaml"


def test_the_command_writes_a_scenario_that_runs_and_replaces_nothing(tmp_path):
    words = ["city", "town.yaml", "--size", "500", "--seed", "2", "--people", "5"]
    done = crowdsim(words, cwd=tmp_path)
    assert done.returncode == 0 and "crowdsim run town.yaml" in done.stdout
    scenario = load_scenario(tmp_path / "town.yaml")
    assert scenario.seed == 2 and len(build_world(scenario).agents) == 5
    again = crowdsim(words, cwd=tmp_path)
    assert again.returncode == 2 and "exists already" in again.stderr
    before = (tmp_path / "town-ground.wkt").read_text()
    assert crowdsim([*words, "--force"], cwd=tmp_path).returncode == 0
    assert (tmp_path / "town-ground.wkt").read_text() == before
    wrong = crowdsim(["city", "town.txt"], cwd=tmp_path)
    assert wrong.returncode == 2 and "does not end in .yaml" in wrong.stderr
    small = crowdsim(["city", "small.yaml", "--size", "10"], cwd=tmp_path)
    assert small.returncode == 2 and len(small.stderr.splitlines()) == 1
