"""Overlaps of discs that were counted before: what is counted anew gives what counting all would."""

import numpy as np
import pytest

from crowdsim.bodies import separate as bodies
from crowdsim.bodies.recount import BESIDE, COUNTED, MOVED, mark_beside
from crowdsim.bodies.separate import SeparationParameters, Separator
from crowdsim.geometry.walls import no_walls
from crowdsim.kernels.threads import Team
from tests.reference import separate as twin

SLACK_M = 2e-3  # by how much farther than they reach discs may be looked for


class Crowd:
    """Discs that a separator has parted."""

    def __init__(self, rng, count=150, density=4.0, passes=3, further=0, floors=2):
        self.before = rng.uniform(0.0, np.sqrt(count / density), (count, 2))
        self.radius = rng.uniform(0.1, 0.3, count)
        self.movable = rng.choice(np.array([0, 1, 1, 1, 1, 2], dtype=np.uint8), count)
        self.layer = rng.integers(0, floors, count).astype(np.int32)
        self.position = np.empty_like(self.before)
        self.separator = Separator(SeparationParameters(passes=passes, further_passes=further))

    def separate(self, team):
        count = len(self.radius)
        self.separator.separate(
            self.before, self.before, self.radius, self.movable, self.layer, np.zeros(count, np.int64),
            np.full(count, 9.0, np.float32), no_walls(), 0.05, team, self.position,
        )  # fmt: skip

    def measure(self, team, separator=None):
        return (separator or self.separator).measure(
            self.position, self.radius, self.movable, self.layer, team
        )


@pytest.fixture
def all_counts(monkeypatch):
    """How often all discs were counted anew."""
    calls, count_all = [], Separator._measure_all
    monkeypatch.setattr(Separator, "_measure_all", lambda *given: calls.append(1) or count_all(*given))
    return calls


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("passes, further", [(0, 0), (1, 0), (3, 0), (3, 60)])
@pytest.mark.parametrize("moved", [0, 1, 18])
@pytest.mark.parametrize("seeds", [range(5), pytest.param(range(5, 20), marks=pytest.mark.full)])
def test_few_that_moved_are_counted_as_all_would_be(
    seeds, moved, passes, further, threads, all_counts, monkeypatch
):
    monkeypatch.setattr("crowdsim.kernels.threads.WORTH_NS", 0)
    team, all_were_counted = Team(threads), 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        crowd = Crowd(rng, passes=passes, further=further)
        crowd.separate(team)
        rows = rng.choice(len(crowd.radius), moved, replace=False)
        crowd.position[rows] += rng.uniform(-0.3, 0.3, (moved, 2))
        found = crowd.measure(team)
        all_were_counted += len(all_counts)
        count, deepest, total = twin.measure(
            crowd.position.tolist(), crowd.radius.tolist(), crowd.layer.tolist(), crowd.movable.tolist()
        )
        assert (found.count, found.deepest) == (count, pytest.approx(deepest, abs=1e-12))
        assert found.total == pytest.approx(total, abs=1e-9)
        assert found == crowd.measure(team, Separator())  # bit for bit
        all_counts.clear()
    if not further:  # the best of further passes need not be the last, whose overlaps are known
        assert not all_were_counted
    team.close()


def test_it_is_asked_once_and_for_the_same_discs_only(all_counts):
    team, rng = Team(1), np.random.default_rng(2)
    changes = {
        "radius": lambda crowd: crowd.radius.__setitem__(3, 0.4),
        "movable": lambda crowd: crowd.movable.__setitem__(3, (crowd.movable[3] + 1) % 2),
        "layer": lambda crowd: crowd.layer.__setitem__(3, 1 - crowd.layer[3]),
        "one far": lambda crowd: crowd.position.__setitem__(3, crowd.position[3] + 2.0),
        "many": lambda crowd: crowd.position.__iadd__(0.01),
        "again": lambda crowd: crowd.measure(team),
    }
    for name, change in changes.items():
        crowd = Crowd(rng)
        crowd.separate(team)
        change(crowd)
        all_counts.clear()
        found = crowd.measure(team)
        assert len(all_counts) == 1, name
        assert found == crowd.measure(team, Separator()), name
    fewer = Crowd(rng)
    fewer.separate(team)
    for name in ("position", "radius", "movable", "layer"):
        setattr(fewer, name, getattr(fewer, name)[1:])
    assert fewer.measure(team) == fewer.measure(team, Separator())


def test_a_pile_gets_the_room_that_it_needs(monkeypatch):
    monkeypatch.setattr(bodies, "_LEAST_CAPACITY", 1)
    monkeypatch.setattr(bodies, "_MOST_MOVED", 1.0)
    team, rng = Team(1), np.random.default_rng(4)
    crowd = Crowd(rng, count=300, density=3.0, floors=1)
    crowd.separate(team)
    crowd.position[:120] = crowd.position[0] + rng.uniform(-0.05, 0.05, (120, 2))
    monkeypatch.setattr(bodies, "_FARTHEST_MOVED_M", 100.0)
    assert crowd.measure(team) == crowd.measure(team, Separator())


@pytest.mark.parametrize("seed", range(20))
def test_those_beside_discs_that_moved_are_marked_and_hardly_others(seed):
    rng, team = np.random.default_rng(seed), Team(1)
    crowd = Crowd(rng)
    crowd.separate(team)
    left = crowd.separator._left
    cells, now, count = left.cells, left.now, len(crowd.radius)  # there is room for more discs
    moved = rng.choice(len(crowd.radius), 10, replace=False)
    x, y = now.x.copy(), now.y.copy()
    x[moved] += rng.uniform(-0.3, 0.3, 10)
    stale = np.full(len(crowd.radius), COUNTED)
    stale[moved] = MOVED
    farthest = float(np.hypot(x - now.x, y - now.y)[:count].max())
    given = cells, now, now._replace(x=x, y=y), 300, left.widest, left.drift, farthest, stale
    assert Team(3).run(mark_beside, len(stale), *given, at_least=1) == [0] * 24
    needed, most = (
        twin.beside(
            moved.tolist(),
            np.column_stack([now.x, now.y])[:count].tolist(),
            np.column_stack([x, y])[:count].tolist(),
            (now.radius[:count] + slack / 2.0).tolist(),
            cells.plane.tolist(),
        )
        for slack in (0.0, SLACK_M)
    )
    found = set(np.flatnonzero(stale == BESIDE).tolist())
    assert needed <= found <= most and 0 < len(found) < len(stale) - 10
    assert set(np.flatnonzero(stale == MOVED).tolist()) == set(moved.tolist())
