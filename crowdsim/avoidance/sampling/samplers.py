"""Samplers: which velocities are tried, sixteen at a time; the one with the least penalty is taken.

The penalty of a velocity is the sum of four: its distance to the preferred and to the present velocity (over
the maximum speed), how far it goes off the side to keep to (a mean over neighbours), and that of its urgency
z, the time horizon over the time to collision: ``z / (1 + softening z)``. Their sources are [Mononen 2010],
Custom hRVO, which names them, and [Recast 2009], DetourCrowd, which gives the last one its form:
``1 / (softening + t / horizon)``.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.avoidance.sampling.candidate_velocities import (
    CANDIDATE_X,
    CANDIDATE_Y,
    add_crossings,
    add_feet,
    deviation,
    deviation_from,
    lay_out_lines,
    take_cheapest,
)
from crowdsim.avoidance.sampling.time_to_collision import COLLISION, first_collision, urgency_and_side
from crowdsim.kernels.decorator import inlined_kernel, lean_kernel
from crowdsim.kernels.simd import bit_count, bits, choose, first_bit, least, load, numbers, spread, store

ADAPTIVE, GRID, CIRCLE = 0, 1, 2
MOST_GRID = 129
MOST_DIRECTIONS = 256

# Radius of the first ring round the best candidate, over the maximum speed. Larger finds other valleys,
# smaller is finer.
FIRST_STEP = np.float32(0.12)
SHRINK = np.float32(0.25)  # From ring to ring; each try has one of this radius and one of half of it.
# Rings smaller than this share of the maximum speed change nothing that could be seen.
LAST_STEP = np.float32(1e-3)
CANDIDATE_SHARE = 0.75  # Share of the samples that candidates may use; the rest is for rings.
# A penalty within half a per cent of what no velocity can fall below is taken at once.
ENOUGH = np.float32(1.005)

# Areas of a float32 array: sixteen velocities, and the table of grid steps or directions.
BATCH_X, BATCH_Y, TABLE = np.uint64(0), np.uint64(16), np.uint64(32)
BATCH_FLOATS = 32 + max(MOST_GRID, 2 * MOST_DIRECTIONS) + 16

_F0, _F1, _HALF, _INFINITE = np.float32(0.0), np.float32(1.0), np.float32(0.5), np.float32(np.inf)
_U0, _U1, _U3, _U16 = np.uint64(0), np.uint64(1), np.uint64(3), np.uint64(16)

# Two rings of eight directions, the inner one of half the radius and turned by half a step: cosines, then
# sines.
_C, _D, _E = np.sqrt(0.5), np.sqrt(0.5 + 0.5 * np.sqrt(0.5)), np.sqrt(0.5 - 0.5 * np.sqrt(0.5))
_COSINES = [
    1.0,
    _C,
    0.0,
    -_C,
    -1.0,
    -_C,
    0.0,
    _C,
    _D / 2,
    _E / 2,
    -_E / 2,
    -_D / 2,
    -_D / 2,
    -_E / 2,
    _E / 2,
    _D / 2,
]
_SINES = [
    0.0,
    _C,
    1.0,
    _C,
    0.0,
    -_C,
    -1.0,
    -_C,
    _E / 2,
    _D / 2,
    _D / 2,
    _E / 2,
    -_E / 2,
    -_D / 2,
    -_D / 2,
    -_E / 2,
]
_RINGS = np.array([*_COSINES, *_SINES], dtype=np.float32)


# Columns of `SampleTrace.samples`, each for sixteen velocities in `SampleTrace.lanes`: the velocity, the
# parts of its penalty, and their sum.
SAMPLE_X, SAMPLE_Y, SAMPLE_PREFERRED, SAMPLE_CURRENT, SAMPLE_SIDE, SAMPLE_COLLISION, SAMPLE_PENALTY = range(7)
SAMPLE_FLOATS = 7


class SampleTrace(NamedTuple):
    """Room for what the samplers try, for a caller that asks for it.

    Attributes
    ----------
    samples : (k, 7) float32
        A row for each velocity tried, in that order.
    hits : (k,) int64
        What is run into first within the horizon, as `first_collision` numbers it; -1 where nothing is.
    lanes : (7 * 16,) float32
        Workspace.
    filled : (1,) int64
        How many rows there are.
    """

    samples: NDArray[np.float32]
    hits: NDArray[np.int64]
    lanes: NDArray[np.float32]
    filled: NDArray[np.int64]


def empty_trace(most: int) -> SampleTrace:
    """Return room for `most` velocities.

    Parameters
    ----------
    most : int
    """
    return SampleTrace(
        np.zeros((most, SAMPLE_FLOATS), np.float32),
        np.zeros(most, np.int64),
        np.zeros(16 * SAMPLE_FLOATS, np.float32),
        np.zeros(1, np.int64),
    )


@lean_kernel
def _trace_batch(trace, obstacles, obstacle_counts, objective, x, y, side, collision, penalty, which):
    """Add those of sixteen velocities whose bits are set in `which` to what was tried."""
    samples, hits, lanes, filled = trace
    store(lanes, _U16 * np.uint64(SAMPLE_X), x)
    store(lanes, _U16 * np.uint64(SAMPLE_Y), y)
    store(
        lanes,
        _U16 * np.uint64(SAMPLE_PREFERRED),
        deviation_from(x, y, objective[0], objective[1], objective[4]),
    )
    store(
        lanes,
        _U16 * np.uint64(SAMPLE_CURRENT),
        deviation_from(x, y, objective[2], objective[3], objective[5]),
    )
    store(lanes, _U16 * np.uint64(SAMPLE_SIDE), side)
    store(lanes, _U16 * np.uint64(SAMPLE_COLLISION), collision)
    store(lanes, _U16 * np.uint64(SAMPLE_PENALTY), penalty)
    while which != _U0:
        lane = first_bit(which)
        which &= which - _U1
        at = filled[0]
        for column in range(SAMPLE_FLOATS):
            samples[at, column] = lanes[_U16 * np.uint64(column) + lane]
        urgency, hit = first_collision(
            obstacles, obstacle_counts[1], obstacle_counts[2], samples[at, SAMPLE_X], samples[at, SAMPLE_Y]
        )
        hits[at] = hit if urgency > COLLISION else -1
        filled[0] = at + 1


@lean_kernel
def try_batch(obstacles, obstacle_counts, objective, weights, x, y, wanted, best, trace):
    """Try up to sixteen velocities.

    Parameters
    ----------
    obstacles : (OBSTACLE_FLOATS,) float32
    obstacle_counts : tuple of uint64
        Discs of neighbours, all discs, slabs.
    objective : tuple of float32
        As in `deviation`.
    weights : tuple of float32
        Of the side, over the number of neighbours; of a collision; the softening.
    x, y : lanes of float32, m/s
    wanted : uint64
        How many of the lanes to try.
    best : tuple of float32
        Least penalty so far, and its velocity x and y.
    trace : SampleTrace or None
        Receives what is tried. None costs nothing: the kernel is compiled without it.

    Returns
    -------
    tuple
        The new `best`.
    used : uint64
        Velocities tried: those of the lanes that are neither too fast nor cannot be better than `best`,
        whatever they run into.
    lane : int64
        The lane that is the new best; -1 where none is.

    Notes
    -----
    Twin: `tests/reference/sampled.py`.
    """
    least_penalty, best_x, best_y = best
    side_weight, collision_weight, softening = weights
    cost = deviation(objective, x, y)
    limit = least_penalty - collision_weight / (_F1 + softening)
    tried = (cost < spread(limit)) & (numbers() < spread(np.int32(wanted)))
    used, lane = bit_count(bits(tried)), np.int64(-1)
    if used > _U0:
        urgency, side = urgency_and_side(
            obstacles, obstacle_counts[0], obstacle_counts[1], obstacle_counts[2], x, y
        )
        aside = spread(side_weight) * side
        collision = spread(collision_weight) * urgency / (spread(_F1) + spread(softening) * urgency)
        penalty = cost + aside + collision
        if trace is not None:
            _trace_batch(
                trace, obstacles, obstacle_counts, objective, x, y, aside, collision, penalty, bits(tried)
            )
        penalty = choose(tried, penalty, spread(_INFINITE))
        found = least(penalty)
        if found < least_penalty:
            place = first_bit(bits(penalty == spread(found)))
            least_penalty, lane = found, np.int64(place)
    return (least_penalty, best_x, best_y), used, lane


@inlined_kernel
def _try_stored(obstacles, obstacle_counts, objective, weights, batch, wanted, best, trace):
    """Do as `try_batch` with the velocities that lie in `batch`."""
    best, used, lane = try_batch(
        obstacles,
        obstacle_counts,
        objective,
        weights,
        load(batch, BATCH_X),
        load(batch, BATCH_Y),
        wanted,
        best,
        trace,
    )
    if lane >= 0:
        best = (best[0], batch[BATCH_X + np.uint64(lane)], batch[BATCH_Y + np.uint64(lane)])
    return best, used, lane


@lean_kernel
def search_adaptively(
    obstacles,
    obstacle_counts,
    objective,
    weights,
    heading,
    side,
    speed,
    per_wall_horizon,
    samples,
    candidates,
    slots,
    batch,
    trace,
):
    """Find a good velocity with few samples: candidates in the order of their deviation,
    then ever smaller rings round the best.

    Parameters
    ----------
    obstacles, obstacle_counts, objective, weights : tuple
        As in `try_batch`; the preferred velocity is not faster than the agent can be.
    heading : tuple of float32
        Unit vector with which rings are aligned where the best is the preferred velocity.
    side : float32
        +1 or -1; rings are mirrored with it.
    speed : float32, m/s
        The agent's maximum speed.
    per_wall_horizon : float32, 1/s
    samples : uint64, >= 16
        Velocities that may be tried.
    candidates, slots, batch : ndarray
        Workspaces.
    trace : SampleTrace or None
        As in `try_batch`.

    Returns
    -------
    x, y : float32, m/s
    used : uint64
        Velocities tried.
    is_preferred : bool
        The preferred velocity was taken as it is.

    Notes
    -----
    A candidate whose deviation alone costs more than the best penalty, less that of no collision, ends the
    candidates: all that follow cost more. Twin: `tests/reference/sampled.py`.
    """
    lines = lay_out_lines(
        obstacles, obstacle_counts[1], obstacle_counts[2], side, per_wall_horizon, candidates
    )
    count = add_feet(obstacles, obstacle_counts[0], lines, objective, candidates)
    batch[BATCH_X], batch[BATCH_Y], batch[BATCH_X + _U1], batch[BATCH_Y + _U1] = (
        objective[0],
        objective[1],
        objective[2],
        objective[3],
    )
    batch[BATCH_X + np.uint64(2)], batch[BATCH_Y + np.uint64(2)] = _F0, _F0
    # no velocity within the limit deviates by more than twice the speed
    dearest = np.float32(4.0) * speed * (objective[4] + objective[5]) + LAST_STEP
    taken = take_cheapest(candidates, count, _U16 - _U3, dearest, slots)
    _gather(candidates, slots, taken, batch, _U3)
    best, used, lane = _try_stored(
        obstacles, obstacle_counts, objective, weights, batch, taken + _U3, (_INFINITE, _F0, _F0), trace
    )
    is_preferred = lane == 0
    no_collision = weights[1] / (_F1 + weights[2])
    apart_x, apart_y = objective[0] - objective[2], objective[1] - objective[3]
    floor = (
        no_collision + min(objective[4], objective[5]) * np.sqrt(apart_x * apart_x + apart_y * apart_y)
    ) * ENOUGH
    if best[0] <= floor:
        return best[1], best[2], used, is_preferred
    count = add_crossings(lines, objective, best[0] - no_collision, count, candidates)
    for_candidates = np.uint64(np.float64(samples) * CANDIDATE_SHARE)
    while used < for_candidates:
        taken = take_cheapest(
            candidates, count, min(_U16, for_candidates - used), best[0] - no_collision, slots
        )
        if taken == _U0:
            break
        _gather(candidates, slots, taken, batch, _U0)
        best, tried, lane = _try_stored(
            obstacles, obstacle_counts, objective, weights, batch, taken, best, trace
        )
        used += tried
        is_preferred = is_preferred and lane < 0
    best, used, lane = _search_rings(
        obstacles, obstacle_counts, objective, weights, heading, side, speed, samples, best, used, trace
    )
    return best[1], best[2], used, is_preferred and lane < 0


@inlined_kernel
def _gather(candidates, slots, taken, batch, first):
    """Write the candidates taken to the batch, from the place `first` on."""
    for place in range(taken):
        candidate = np.uint64(slots[place])
        batch[BATCH_X + first + place], batch[BATCH_Y + first + place] = (
            candidates[CANDIDATE_X + candidate],
            candidates[CANDIDATE_Y + candidate],
        )


@inlined_kernel
def _search_rings(
    obstacles, obstacle_counts, objective, weights, heading, side, speed, samples, best, used, trace
):
    """Try rings round the best, the first direction towards the preferred velocity;
    return best, used, and 0 if there was anything better, else -1.
    """
    step, better = FIRST_STEP * speed, np.int64(-1)
    cosines, sines = load(_RINGS, _U0), load(_RINGS, _U16)
    while used < samples and step > LAST_STEP * speed:
        ex, ey = objective[0] - best[1], objective[1] - best[2]
        length = np.sqrt(ex * ex + ey * ey)
        if length > _F0:
            ex, ey = ex / length, ey / length
        else:
            ex, ey = heading
        fx, fy = -side * ey, side * ex
        x = spread(best[1]) + (cosines * spread(ex) + sines * spread(fx)) * spread(step)
        y = spread(best[2]) + (cosines * spread(ey) + sines * spread(fy)) * spread(step)
        best, tried, lane = try_batch(
            obstacles, obstacle_counts, objective, weights, x, y, min(_U16, samples - used), best, trace
        )
        used += tried
        if lane >= 0:
            cosine, sine = _RINGS[np.uint64(lane)], _RINGS[np.uint64(lane) + _U16]
            best_x, best_y = (
                best[1] + (cosine * ex + sine * fx) * step,
                best[2] + (cosine * ey + sine * fy) * step,
            )
            best, better = (best[0], best_x, best_y), np.int64(0)
        step *= SHRINK
    return best, used, better


@lean_kernel
def search_grid(obstacles, obstacle_counts, objective, weights, heading, side, speed, size, batch, trace):
    """Try the preferred velocity and all velocities of a square grid over the disc of velocities,
    aligned with the heading.

    Parameters
    ----------
    obstacles, obstacle_counts, objective, weights, heading, side, speed, batch, trace : tuples, numbers and
        ndarray
        As in `search_adaptively`; `batch` holds the numbers of grid lines, the middle one 0, from `TABLE` on.
    size : uint64, odd
        Lines in each direction; the first and the last are tangents of the disc.

    Returns
    -------
    x, y, used, is_wish
        As `search_adaptively`.

    Notes
    -----
    Source: [Mononen 2010], Geometric vs. Sampling (129 x 129). Twin: `tests/reference/sampled.py`.
    """
    batch[BATCH_X], batch[BATCH_Y] = objective[0], objective[1]
    best, used, _ = _try_stored(
        obstacles, obstacle_counts, objective, weights, batch, _U1, (_INFINITE, _F0, _F0), trace
    )
    is_preferred = True
    pitch = speed / np.float32((size - _U1) // np.uint64(2))
    ex, ey = heading[0] * pitch, heading[1] * pitch
    fx, fy = -side * ey, side * ex
    for line in range(size):
        across = batch[TABLE + line]
        for first in range(_U0, size, _U16):
            along = load(batch, TABLE + first)
            x, y = along * spread(ex) + spread(across * fx), along * spread(ey) + spread(across * fy)
            best, tried, lane = try_batch(
                obstacles, obstacle_counts, objective, weights, x, y, min(_U16, size - first), best, trace
            )
            used += tried
            if lane >= 0:
                place = batch[TABLE + first + np.uint64(lane)]
                best = (best[0], place * ex + across * fx, place * ey + across * fy)
                is_preferred = False
    return best[1], best[2], used, is_preferred


@lean_kernel
def search_circle(obstacles, obstacle_counts, objective, weights, heading, side, directions, batch, trace):
    """Try all directions at the preferred speed, and standing still.

    Parameters
    ----------
    obstacles, obstacle_counts, objective, weights, heading, side, batch, trace : tuples, numbers and ndarray
        As in `search_adaptively`; `batch` holds the cosines of directions from `TABLE` on, and from
        ``TABLE + directions`` on their sines. The first direction is straight on.
    directions : uint64
        A multiple of 16.

    Returns
    -------
    x, y, used, is_wish
        As `search_adaptively`.

    Notes
    -----
    Twin: `tests/reference/sampled.py`.
    """
    best, used, is_preferred = (_INFINITE, _F0, _F0), _U0, False
    fx, fy = -side * objective[1], side * objective[0]
    for first in range(_U0, directions, _U16):
        cosines, sines = load(batch, TABLE + first), load(batch, TABLE + directions + first)
        x, y = (
            cosines * spread(objective[0]) + sines * spread(fx),
            cosines * spread(objective[1]) + sines * spread(fy),
        )
        best, tried, lane = try_batch(obstacles, obstacle_counts, objective, weights, x, y, _U16, best, trace)
        used += tried
        if lane >= 0:
            cosine, sine = (
                batch[TABLE + first + np.uint64(lane)],
                batch[TABLE + directions + first + np.uint64(lane)],
            )
            best = (best[0], cosine * objective[0] + sine * fx, cosine * objective[1] + sine * fy)
            is_preferred = first == _U0 and lane == 0
    best, tried, lane = try_batch(
        obstacles, obstacle_counts, objective, weights, spread(_F0), spread(_F0), _U1, best, trace
    )
    if lane >= 0:
        return _F0, _F0, used + tried, False
    return best[1], best[2], used + tried, is_preferred
