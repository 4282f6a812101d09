"""Members of parties against the slow twin, and what does not change them."""

import contextlib
import functools
import math

import numpy as np
import pytest

from crowdsim.bodies import party as own
from crowdsim.kernels.threads import Team
from crowdsim.navigation.mesh.mesh import locate_many
from tests.crowds import simulation
from tests.reference import party as twin

RULES = {"spacing": 0.8, "abreast": 3, "gap": 2.5, "patience": 40.0, "hurry": 1.3, "slower": 0.04}


@functools.cache
def ground(width):
    document = {
        "version": 1,
        "tick": 0.1,
        "geometry": {"walkable": {"box": [0, 0, 40, width]}},
        "groups": [{"name": "g", "positions": [[1, width / 2]]}],
    }
    with simulation(document) as run:
        run.world.reach_walls(own.REACH_M)
        return run.world.mesh, run.world.walls, [(0, 0), (40, 0), (40, width), (0, width)]


def crowd(rng, count, width):
    """Return some members as the twin takes them."""
    found = []
    for _ in range(count):
        angle, speed = rng.normal(0, 0.3), rng.uniform(0.6, 1.6)
        found.append(
            {
                "state": int(rng.choice([own.WALKS] * 8 + [own.PRESENT, own.IGNORED])),
                "position": (rng.uniform(12, 18), rng.uniform(0.4, width - 0.4)),
                "wanted": (speed * math.cos(angle), speed * math.sin(angle)),
                "remaining": math.nan if rng.random() < 0.1 else rng.uniform(10, 30),
                "layer": int(rng.random() < 0.05),
                "stage": int(rng.random() < 0.1),
                "desired": speed,
                "maximum": 1.5 * speed,
                "radius": rng.uniform(0.15, 0.25),
                "waited": int(rng.integers(0, 60)) if rng.random() < 0.4 else 0,
            }
        )
    return found


def run_kernel(parties, width, *, led, outside, threads=1):
    """Return what the kernel writes for parties, as the twin says it."""
    mesh, walls, _ = ground(width)
    members = [each for party in parties for each in party]
    arrays = {name: np.array([each[name] for each in members]) for name in members[0]}
    polygon = np.empty(len(members), dtype=np.int64)
    locate_many(0, len(members), mesh, arrays["position"], np.full(len(members), -1, dtype=np.int32), polygon)
    member = own.Member(
        arrays["state"].astype(np.uint8), arrays["position"], arrays["wanted"], arrays["remaining"],
        arrays["layer"].astype(np.int32), arrays["stage"].astype(np.int32), arrays["desired"],
        arrays["maximum"], arrays["radius"], polygon, arrays["waited"].astype(np.int32),
    )  # fmt: skip
    told = own.Told(
        arrays["wanted"].copy(),
        np.full(len(members), np.inf),
        np.zeros(len(members), dtype=np.uint8),
        member.waited.copy(),
    )
    first = np.cumsum([0, *map(len, parties)]).astype(np.int64)
    rules = np.tile([float(value) for value in RULES.values()], (len(parties), 1))
    with contextlib.closing(Team(threads)) as team:
        team.run(
            own.keep_together, len(parties), first, np.arange(len(members)),
            np.full(len(parties), led, dtype=np.uint8), np.full(len(parties), outside, dtype=np.uint8),
            member, rules,
            (walls.start, walls.end, walls.zone_start, walls.zone_wall), mesh, told, at_least=1,
        )  # fmt: skip
    return told


@pytest.mark.parametrize("width", [1.2, 2.4, 9.0])
@pytest.mark.parametrize("led", [False, True])
@pytest.mark.parametrize("outside", [False, True])
def test_members_do_what_the_twin_says(width, led, outside):
    rng = np.random.default_rng(7)
    _, _, corner = ground(width)
    walls = list(zip(corner, [*corner[1:], corner[0]], strict=True))
    parties = [crowd(rng, int(rng.integers(1, 8)), width) for _ in range(60)]
    told = run_kernel(parties, width, led=led, outside=outside)
    at, turned, limited = 0, 0, 0
    for party in parties:
        for each, expected in zip(
            party, twin.one_party(party, RULES, walls, led=led, outside=outside), strict=True
        ):
            wanted = each["wanted"] if expected["wanted"] is None else expected["wanted"]
            assert told.velocity[at] == pytest.approx(wanted, abs=1e-9)
            assert told.limit[at] == pytest.approx(expected["limit"], abs=1e-9)
            assert (bool(told.held[at]), told.waited[at]) == (expected["held"], expected["waited"])
            turned += wanted != each["wanted"]
            limited += expected["limit"] < np.inf
            at += 1
    assert turned > 100 and 50 < limited < at - 50


def test_threads_change_nothing():
    rng = np.random.default_rng(3)
    parties = [crowd(rng, int(rng.integers(1, 9)), 9.0) for _ in range(40)]
    one = run_kernel(parties, 9.0, led=True, outside=False)
    for threads in (2, 3, 7):
        for a, b in zip(one, run_kernel(parties, 9.0, led=True, outside=False, threads=threads), strict=True):
            assert np.array_equal(a, b)


def mirrored(member, width):
    (x, y), (vx, vy) = member["position"], member["wanted"]
    return {**member, "position": (x, width - y), "wanted": (vx, -vy)}


def test_what_is_mirrored_goes_mirrored():
    rng = np.random.default_rng(5)
    parties = [crowd(rng, 6, 8.0) for _ in range(20)]
    told = run_kernel(parties, 8.0, led=False, outside=False)
    other = run_kernel(
        [[mirrored(each, 8.0) for each in party] for party in parties], 8.0, led=False, outside=False
    )
    assert np.allclose(told.velocity, other.velocity * [1, -1], atol=1e-9)
    assert np.allclose(told.limit, other.limit, atol=1e-9) and np.array_equal(told.held, other.held)


def test_none_walks_faster_than_it_may():
    rng = np.random.default_rng(9)
    parties = [crowd(rng, 8, 8.0) for _ in range(50)]
    told = run_kernel(parties, 8.0, led=True, outside=False)
    members = [each for party in parties for each in party]
    for velocity, each in zip(told.velocity, members, strict=True):
        assert np.hypot(*velocity) <= RULES["hurry"] * each["desired"] * (1 + 1e-12)
