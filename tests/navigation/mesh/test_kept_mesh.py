"""The mesh of a large ground comes from the disk cache for any agents: it is the one that is made for them,
to the last bit, with the lists of walls that they need.
"""

import numpy as np
import pytest

from crowdsim.kernels import disk_cache
from crowdsim.scenario.load import load_scenario
from crowdsim.setup import build as build_module
from crowdsim.setup.build import build_world

CITY = {
    "version": 1,
    "geometry": {"walkable": {"city": {"size": 400, "seed": 2}}},
    "goals": {"out": {"region": {"box": [0, 0, 400, 8]}}},
    "groups": [{"name": "people", "count": 5, "goals": "out"}],
}
SHUT = {"areas": [{"name": "gate", "area": {"box": [195, 195, 230, 205]}, "available": False}]}


def city(navigation, speed, count=5, **geometry):
    group = {**CITY["groups"][0], "count": count, "speed": speed}
    return load_scenario(
        {
            **CITY,
            "geometry": {**CITY["geometry"], **geometry},
            "groups": [group],
            "navigation": navigation,
        }
    )


@pytest.fixture
def made(monkeypatch, tmp_path):
    """How often a mesh was made; small ones are kept, too."""
    calls = []
    make = build_module._built_mesh

    def counted(*given):
        calls.append(given)
        return make(*given)

    monkeypatch.setattr(disk_cache, "cache_directory", lambda: tmp_path)
    monkeypatch.setattr(build_module, "LEAST_CACHED_VERTICES", 0)
    monkeypatch.setattr(build_module, "_built_mesh", counted)
    return calls


def assert_same(one, other):
    assert one._fields == other._fields
    for name, a, b in zip(one._fields, one, other, strict=True):
        a, b = np.asarray(a), np.asarray(b)
        assert a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes(), name


@pytest.mark.parametrize(
    "scenario",
    [
        lambda *agents: city({"kind": "mesh"}, *agents),
        lambda *agents: city({"kind": "mesh", "tile_size": 100}, *agents),
        lambda *agents: city({"kind": "mesh", "tile_size": 100}, *agents, **SHUT),
    ],
    ids=["one piece", "tiles", "tiles, an area shut"],
)
def test_agents_of_another_number_and_speed_walk_on_the_mesh_that_is_kept(scenario, made, monkeypatch):
    build_world(scenario(1.0))
    kept = build_world(scenario(2.5, 9)).mesh_build
    assert len(made) == 1
    monkeypatch.setattr(build_module, "LEAST_CACHED_VERTICES", 10**9)
    fresh = build_world(scenario(2.5, 9)).mesh_build
    assert len(made) == 2
    assert_same(kept.mesh, fresh.mesh)
    assert_same(kept.walls, fresh.walls)
    if kept.parameters.tile_size == 0.0:
        return
    assert kept.tiles.numbers == fresh.tiles.numbers
    ours, theirs = kept.tiles.state(whole=True), fresh.tiles.state(whole=True)
    assert ours.keys() == theirs.keys()
    for name, array in ours.items():
        assert array.dtype == theirs[name].dtype and array.tobytes() == theirs[name].tobytes(), name
    every = np.arange(kept.mesh.polygon_count)
    assert np.array_equal(kept.tiles.handles_of(every), fresh.tiles.handles_of(every))
    for build in (kept, fresh):  # what comes after is made of the tiles and not of what was joined
        build.tiles.change(remove=[build.tiles.tiles()[1]])
    assert_same(kept.tiles.mesh, fresh.tiles.mesh)
    assert_same(kept.tiles.walls, fresh.tiles.walls)


def test_another_ground_or_other_polygons_are_another_mesh(made):
    for scenario in (
        city({"kind": "mesh"}, 1.0),
        city({"kind": "mesh", "faces": "triangles"}, 1.0),
        city({"kind": "mesh"}, 1.0, walkable={"city": {"size": 400, "seed": 3}}),
    ):
        build_world(scenario)
    assert len(made) == 3
