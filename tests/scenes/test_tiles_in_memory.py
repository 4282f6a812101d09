"""Of what the tiles of a large ground have, a share is in memory at most; the run is the same bit for bit."""

from __future__ import annotations

import mmap
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from crowdsim.errors import ScenarioError
from crowdsim.kernels import disk_cache, held_pages
from crowdsim.kernels.held_pages import can_hold
from crowdsim.scenario.load import load_scenario
from crowdsim.setup import build as build_module
from crowdsim.simulation.simulation import Simulation
from tests.crowds import digests

needs_pages = pytest.mark.skipif(not can_hold(), reason="Linux is missing: no system takes pages back")

SIZE = 900
GATE = [438, 0, 462, SIZE]


def city(**navigation):
    """A city of 225 tiles, whose people walk from the left to the right; a strip of it may be shut."""
    return {
        "version": 1,
        "seed": 3,
        "stop": {"after": 60},
        "geometry": {
            "walkable": {"city": {"size": SIZE, "seed": 2}},
            "areas": [{"name": "gate", "area": {"box": GATE}}],
        },
        "navigation": {"kind": "hierarchical", "tile_size": 60, **navigation},
        "goals": {"right": {"region": {"box": [SIZE - 30, 0, SIZE, SIZE]}}},
        "groups": [{"name": "people", "count": 40, "region": {"box": [0, 0, 430, 300]}, "goals": "right"}],
        "budget": {"work": 900},
    }


SHUT = {"events": [{"at": 0.5, "close": "gate"}, {"at": 1.2, "open": "gate"}]}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of this test alone, in place of the cache for arrays."""
    for module in (disk_cache, held_pages):
        monkeypatch.setattr(module, "cache_directory", lambda: tmp_path)
    return tmp_path


@cache
def expected_digests(is_shut):
    """Those of 40 ticks of a run all of whose ground is in memory, and in no file."""
    with Simulation(load_scenario({**city(), **(SHUT if is_shut else {})})) as run:
        assert run.world.held is None and run.built.mesh_build.key == b""
        return digests(run, 40)


def resident_pages(folder: Path) -> tuple[int, int]:
    """Return how many pages the system has of maps of files in a folder, and how many there are."""
    found, is_ours = [0, 0], False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
            is_ours = f" {folder}/" in line
        elif is_ours and line.startswith(("Rss:", "Size:")):
            found[line.startswith("Size:")] += int(line.split()[1]) * 1024 // mmap.PAGESIZE
    return found[0], found[1]


@needs_pages
@pytest.mark.sample(3)  # of the two grounds with any share: both are among them
@pytest.mark.parametrize("share", [0.03, 0.1, 0.6])
@pytest.mark.parametrize("more", [{}, SHUT], ids=["ground that stays", "ground that is shut for a while"])
def test_a_run_is_the_same_and_no_more_than_the_share_is_in_memory(share, more, folder):
    expected = expected_digests(more is SHUT)
    with Simulation(load_scenario({**city(tiles_in_memory=share), **more}), threads=2) as run:
        for tick in range(40):
            if tick:
                resident, pages = resident_pages(folder)
                assert 0 < resident <= share * pages and pages > 300
            assert digests(run, 1) == expected[tick : tick + 1]


@needs_pages
def test_a_run_goes_on_where_it_was_saved(folder):
    given = {**city(tiles_in_memory=0.05), **SHUT}
    expected = expected_digests(True)
    with Simulation(load_scenario(given)) as run:
        digests(run, 15)  # while the strip is shut
        state = run.state()
    with Simulation(load_scenario(given)) as again:
        again.restore(state)
        assert digests(again, 25) == expected[15:]
        assert 0 < again.world.held.in_memory() <= 0.05 * again.world.held.page_count


@needs_pages
def test_what_is_damaged_on_the_disk_is_made_anew(folder):
    given = city(tiles_in_memory=0.1)
    with Simulation(load_scenario(given)) as run:
        expected = digests(run, 5)
    kinds = ("meshes", "walls", "graphs", "areas")
    for kind in kinds:
        (file,) = (folder / kind).iterdir()
        data = bytearray(file.read_bytes())
        data[len(data) // 2] ^= 4
        file.write_bytes(data)
    before = {kind: (folder / kind).stat().st_mtime_ns for kind in kinds}
    with Simulation(load_scenario(given)) as run:
        assert digests(run, 5) == expected
    assert all((folder / kind).stat().st_mtime_ns > before[kind] for kind in kinds)


@pytest.mark.parametrize(
    ("navigation", "words"),
    [
        ({"tile_size": 0, "tiles_in_memory": 0.1}, "the ground is in one piece"),
        ({"tiles_in_memory": 0}, "tiles_in_memory"),
        ({"tiles_in_memory": 1.5}, "tiles_in_memory"),
        ({"kind": "mesh", "tiles_in_memory": 0.1}, "tiles_in_memory"),
    ],
)
def test_what_makes_no_sense_is_refused(navigation, words):
    with pytest.raises(ScenarioError, match=words):
        load_scenario(city(**navigation))


def test_the_share_is_the_scenarios_alone():
    given = city(kind="mesh")
    given["groups"][0]["navigation"] = {"kind": "hierarchical", "tiles_in_memory": 0.1}
    with pytest.raises(ScenarioError, match="on which all groups stand"):
        load_scenario(given)
    given["navigation"] = {"kind": "hierarchical", "tile_size": 60, "tiles_in_memory": 0.1}
    assert load_scenario(given).navigation.values["tiles_in_memory"] == 0.1


def test_a_system_that_takes_no_pages_back_is_refused_with_the_reason(folder, monkeypatch):
    monkeypatch.setattr(build_module, "can_hold", lambda: False)
    with pytest.raises(ScenarioError, match="says which pages are in memory"):
        Simulation(load_scenario(city(tiles_in_memory=0.1)))


def test_slots_take_what_a_few_searches_touch(monkeypatch):
    """Memory of the ground that was searched is given back between requests, and paths are the same."""
    from crowdsim.navigation.hierarchy import planner as planner_module

    def run(most):
        monkeypatch.setattr(planner_module, "MOST_SINCE", most)
        with Simulation(load_scenario({**city(), "budget": {"work": 40_000}})) as run:
            found = digests(run, 8)
            ground = run.world.planning.paths[0].planner.searches._ground
            return found, int(np.count_nonzero(ground.stamp))

    usual, gives_back = run(10**9), run(300)
    assert gives_back[0] == usual[0]
    if can_hold():
        assert gives_back[1] < 0.6 * usual[1]
