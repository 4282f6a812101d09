"""The linear programs of sixteen agents side by side give what those of one agent alone give, to the bit."""

from itertools import pairwise

import numpy as np
import pytest

from crowdsim.avoidance.model import FEASIBLE, INFEASIBLE, NOBODY, NOT_ASKED, RELAXED
from crowdsim.avoidance.neighbour_model import (
    OWN_DECIDES,
    OWN_ENTITY,
    OWN_IDS,
    OWN_MAXIMUM,
    OWN_NUMBERS,
    OWN_PREFERRED_X,
    OWN_PREFERRED_Y,
    TOLD_BLOCKER,
    TOLD_DIAGNOSIS,
    Own,
)
from crowdsim.avoidance.neighbours import CHOSEN, NEAREST_SLOTS
from crowdsim.avoidance.orca.groups import (
    empty_rows,
    relax_waiting,
    solve_alone,
    solve_waiting,
    wait,
)
from crowdsim.avoidance.orca.linear_programs import LINE_FLOATS, NORMAL_X, NORMAL_Y, OFFSET
from crowdsim.avoidance.orca.side_by_side import MOST_TOGETHER
from crowdsim.geometry.speed import limited
from crowdsim.geometry.walls import walls_from_rings
from crowdsim.kernels.decorator import kernel
from tests.avoidance.crowds import choose, random_view

F, U = np.float32, np.uint64
WIDTH = 16


@kernel
def solve_together(rows, own, first, stop, normals, offsets, walls, counts, slots, alone):
    """Solve the agents first..stop in groups of sixteen, or each alone, as the model does."""
    waiting, left, lines, numbers = U(0), U(0), np.empty(LINE_FLOATS, F), own.numbers
    for slot in range(U(first), U(stop)):
        for line in range(U(counts[slot])):
            lines[NORMAL_X + line], lines[NORMAL_Y + line] = normals[slot, line, 0], normals[slot, line, 1]
            lines[OFFSET + line] = offsets[slot, line]
        speed, own_walls, others = numbers[slot, OWN_MAXIMUM], U(walls[slot]), U(counts[slot] - walls[slot])
        x, y = limited(numbers[slot, OWN_PREFERRED_X], numbers[slot, OWN_PREFERRED_Y], speed)
        if alone:
            solve_alone(slot, slots, lines, own_walls, others, speed, x, y, own)
            continue
        wait(rows, waiting, slot, slots, lines, own_walls, others, speed, x, y)
        waiting += U(1)
        if waiting == U(WIDTH):
            left = solve_waiting(rows, waiting, left, own)
            waiting = U(0)
    if waiting > U(0):
        left = solve_waiting(rows, waiting, left, own)
    if left > U(0):
        relax_waiting(rows, left, own)


class Crowd:
    """Agents with half-planes of any kind: crossing, parallel, the same twice, beyond the greatest speed."""

    def __init__(self, seed, agents, most, depth):
        rng = np.random.default_rng(seed)
        self.counts = rng.integers(0, most + 1, agents)
        self.walls = np.minimum(self.counts, rng.choice([0, 0, 0, 1, 3, most], agents))
        angle = rng.uniform(0.0, 2.0 * np.pi, (agents, most))
        angle = np.where(rng.random(angle.shape) < 0.3, np.round(angle * 2.0) / 2.0, angle)  # parallel ones
        self.normals = np.stack([np.cos(angle), np.sin(angle)], axis=2).astype(np.float32)
        self.offsets = rng.uniform(-1.5, depth, angle.shape).astype(np.float32)
        again = rng.random(agents) < 0.3
        self.normals[again, most // 2] = self.normals[again, 0]
        self.offsets[again, most // 2] = self.offsets[again, 0]
        self.numbers = np.zeros((agents, OWN_NUMBERS))
        self.numbers[:, OWN_MAXIMUM] = rng.choice([0.0, 0.7, 1.3, 2.0], agents)
        self.numbers[:, OWN_DECIDES] = 1.0
        self.numbers[:, [OWN_PREFERRED_X, OWN_PREFERRED_Y]] = rng.normal(size=(agents, 2))
        self.numbers[rng.random(agents) < 0.1, OWN_PREFERRED_X] = 0.0
        self.ids = np.zeros((agents, OWN_IDS), np.int64)
        self.ids[:, OWN_ENTITY] = rng.permutation(agents)

    def solve(self, alone=False, order=None, parts=()):
        """What each is told, by its number here."""
        order = np.arange(len(self.ids)) if order is None else order
        own, slots = (
            Own(self.numbers[order], self.ids[order]),
            np.zeros(NEAREST_SLOTS, np.uint32),
        )
        slots[int(CHOSEN) :] = np.arange(len(slots) - int(CHOSEN)) % len(self.ids)
        ends = [0, *parts, len(self.ids)]
        for first, stop in pairwise(ends):
            solve_together(
                empty_rows(), own, first, stop,
                self.normals[order], self.offsets[order], self.walls[order], self.counts[order], slots, alone,
            )  # fmt: skip
        told = np.empty_like(own.numbers)
        told[order] = own.numbers
        return told


def crowds():
    for seed in range(40):
        depth = [-0.02, 0.4, 1.2][seed % 3]
        yield Crowd(seed, 70, [1, 4, 10, 13, MOST_TOGETHER][seed % 5], depth)


def test_sixteen_side_by_side_get_what_each_gets_alone():
    diagnoses = []
    for crowd in crowds():
        together, alone = crowd.solve(), crowd.solve(alone=True)
        assert np.array_equal(together.view(np.uint64), alone.view(np.uint64))
        diagnoses.extend(together[:, int(TOLD_DIAGNOSIS)])
    of_each = np.bincount(np.array(diagnoses, dtype=int), minlength=4)
    assert of_each[[FEASIBLE, INFEASIBLE, RELAXED]].min() > 50, "each kind was looked at"


@pytest.mark.parametrize("seed", range(3))
def test_the_agents_beside_one_and_their_number_change_nothing(seed):
    rng, crowd = np.random.default_rng(seed), Crowd(100 + seed, 70, 12, 0.8)
    expected = crowd.solve()
    # what blocks an agent is named by its slot, which goes with the order
    without = [place for place in range(OWN_NUMBERS) if place != int(TOLD_BLOCKER)]
    for _ in range(5):
        order, parts = rng.permutation(70), sorted(rng.integers(1, 70, 6).tolist())
        assert np.array_equal(crowd.solve(order=order, parts=parts)[:, without], expected[:, without])
        assert np.array_equal(crowd.solve(parts=parts), expected)


class Pieces:
    """A team that calls a kernel for ranges of these lengths, one after the other."""

    def __init__(self, lengths):
        self.lengths = lengths

    def run(self, function, count, *arguments):
        """Call it for all ranges."""
        stops = np.minimum(np.cumsum(self.lengths), count)
        assert stops[-1] == count
        return [
            function(start, stop, *arguments) for start, stop in zip([0, *stops[:-1]], stops, strict=True)
        ]


@pytest.mark.parametrize("wanted", [6, 14, 40])
def test_a_crowd_in_other_ranges_chooses_the_same(wanted):
    """Some stand, and those with very many half-planes are solved alone, between others that wait: by walls
    some have one neighbour too many for a group, others not.
    """
    pillar = np.array([[0.0, 0.0], [0.0, 0.4], [0.4, 0.4], [0.4, 0.0]])  # clockwise: free ground outside
    places = [(x, y) for x in np.arange(0.8, 7.0, 1.6) for y in np.arange(0.8, 7.0, 1.6)]
    view = random_view(3, 180, density=3.0, walls=walls_from_rings([pillar + place for place in places]))
    view = view._replace(active=(np.arange(180) % 7 != 0).astype(np.uint8))
    whole = choose(view, neighbour_count=wanted)
    assert {FEASIBLE, NOT_ASKED, RELAXED} <= set(whole.diagnosis.tolist())
    assert (whole.blocker != NOBODY).any()
    for lengths in ([1] * 180, [17] * 11, [3, 16, 32, 48, 81]):
        view.reach[:] = 0.0
        for ours, theirs in zip(
            whole, choose(view, team=Pieces(lengths), neighbour_count=wanted), strict=True
        ):
            assert np.array_equal(ours, theirs)
