"""Candidate velocities: those worth trying, found from the shape of the obstacles.

What a penalty jumps at are the legs of the cones of velocities that run into something, so the best velocity
mostly lies on a leg or where two cross. Candidates are the points of legs nearest to the preferred velocity,
the crossings, and the apices, at which two keep their relative place. They cost no sample: they are ranked by
how far they deviate from the preferred and the present velocity, which bounds the penalty from below.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np

from crowdsim.avoidance.sampling.time_to_collision import (
    DISC_APEX_X,
    DISC_APEX_Y,
    DISC_CLEARANCE,
    DISC_X,
    DISC_Y,
    SLAB_GAP,
    SLAB_X,
    SLAB_Y,
)
from crowdsim.kernels.decorator import inlined_kernel, lean_kernel
from crowdsim.kernels.simd import (
    append_lanes,
    bit_count,
    bits,
    choose,
    first_bit,
    least,
    load,
    magnitude,
    numbers,
    root,
    spread,
    store,
)

# Obstacles whose legs and lines give candidates, nearest first. Crossings grow with the square of their
# number.
MOST_DISCS, MOST_SLABS = 16, 8
# Cones are widened by this share first: a candidate lies outside by more than float32 rounding, and costs
# 0.1 % at most.
WIDER = np.float32(1e-3)
PARALLEL = np.float32(1e-4)  # Sine of the angle below which two lines do not cross.
MOST_CANDIDATES = 480
# Steps in which the cost below which sixteen candidates lie is found; what is left over in a tie is taken in
# order.
_HALVINGS = 12

# Areas of a float32 array: lines (a point, a direction, the least place on the line that counts), then
# candidates, then sixteen numbers three times.
_LINES, _CANDIDATES = 64, MOST_CANDIDATES + 32
_POINT_X, _POINT_Y, _ALONG_X, _ALONG_Y, _FROM = (np.uint64(_LINES * area) for area in range(5))
CANDIDATE_X, CANDIDATE_Y, CANDIDATE_COST = (np.uint64(5 * _LINES + _CANDIDATES * area) for area in range(3))
_HERE_X, _HERE_Y, _HERE_COST = (np.uint64(5 * _LINES + 3 * _CANDIDATES + 16 * area) for area in range(3))
CANDIDATE_FLOATS, CANDIDATE_SLOTS = 5 * _LINES + 3 * _CANDIDATES + 3 * 16, 48

_F0, _F1, _HALF, _INFINITE = np.float32(0.0), np.float32(1.0), np.float32(0.5), np.float32(np.inf)
_U0, _U1, _U16 = np.uint64(0), np.uint64(1), np.uint64(16)


@inlined_kernel
def deviation_from(x, y, from_x, from_y, weight):
    """Return what velocities cost for straying from the velocity (from_x, from_y), lanes of float32."""
    dx, dy = x - spread(from_x), y - spread(from_y)
    return spread(weight) * root(dx * dx + dy * dy)


@inlined_kernel
def deviation(objective, x, y):
    """Return what velocities cost for straying from the preferred and the present one.

    Parameters
    ----------
    objective : tuple of float32
        Preferred velocity x and y, present velocity x and y (m/s), the weights of both over the maximum speed
        (s/m), the maximum speed squared.
    x, y : lanes of float32, m/s

    Returns
    -------
    lanes of float32
        Infinite where the velocity is too fast.
    """
    preferred_x, preferred_y, own_x, own_y, preferred_weight, own_weight, square = objective
    cost = deviation_from(x, y, preferred_x, preferred_y, preferred_weight) + deviation_from(
        x, y, own_x, own_y, own_weight
    )
    return choose(x * x + y * y <= spread(square), cost, spread(_INFINITE))


@lean_kernel
def lay_out_lines(obstacles, discs, slabs, side, per_wall_horizon, candidates):
    """Write the legs of cones and the lines along walls on which the best velocity may lie.

    Parameters
    ----------
    obstacles : (OBSTACLE_FLOATS,) float32
        As in `time_to_collision`.
    discs, slabs : uint64
        How many there are; the first `MOST_DISCS` and `MOST_SLABS` give candidates.
    side : float32
        +1: right legs come first, -1: left legs. It decides between candidates of equal cost, so that
        mirrored scenes stay mirrored.
    per_wall_horizon : float32, 1/s
    candidates : (CANDIDATE_FLOATS,) float32
        Receives the lines.

    Returns
    -------
    uint64
        Their number.

    Notes
    -----
    A leg touches the disc: its direction is that to the centre, turned by the angle whose sine is reach over
    distance. Velocities on the line along a wall come up to it at the horizon. Twin:
    `tests/reference/sampled.py`.
    """
    count = min(discs, np.uint64(MOST_DISCS))
    px, py, clear = load(obstacles, DISC_X), load(obstacles, DISC_Y), load(obstacles, DISC_CLEARANCE)
    square = px * px + py * py
    reach_squared = square - clear
    exists = reach_squared > spread(_F0)
    reach_squared = reach_squared * spread((_F1 + WIDER) * (_F1 + WIDER))
    leg, reach = (
        root(choose(exists, square - reach_squared, spread(_F0))),
        root(choose(exists, reach_squared, spread(_F0))),
    )
    begins = choose(exists, spread(_F0), spread(_INFINITE))
    for turn in range(np.uint64(2)):
        sign = spread(-side if turn == _U0 else side)
        place = turn * count
        store(candidates, _POINT_X + place, load(obstacles, DISC_APEX_X))
        store(candidates, _POINT_Y + place, load(obstacles, DISC_APEX_Y))
        store(candidates, _ALONG_X + place, (px * leg - sign * py * reach) / square)
        store(candidates, _ALONG_Y + place, (sign * px * reach + py * leg) / square)
        store(candidates, _FROM + place, begins)
    count += count
    for slab in range(min(slabs, np.uint64(MOST_SLABS))):
        nx, ny = obstacles[SLAB_X + slab], obstacles[SLAB_Y + slab]
        away = -obstacles[SLAB_GAP + slab] * per_wall_horizon
        candidates[_POINT_X + count], candidates[_POINT_Y + count], candidates[_FROM + count] = (
            nx * away,
            ny * away,
            -_INFINITE,
        )
        candidates[_ALONG_X + count], candidates[_ALONG_Y + count] = -ny, nx
        count += _U1
    return count


@inlined_kernel
def add_feet(obstacles, neighbours, lines, objective, candidates):
    """Write the points of lines nearest to the preferred velocity, and the apices of neighbours;
    return how many candidates there are.
    """
    count = _U0
    preferred_x, preferred_y = spread(objective[0]), spread(objective[1])
    for first in range(_U0, lines, _U16):
        px, py, ux, uy = _line(candidates, first)
        place = (preferred_x - px) * ux + (preferred_y - py) * uy
        valid = (place > load(candidates, _FROM + first)) & (
            numbers() + spread(np.int32(first)) < spread(np.int32(lines))
        )
        count = _append(candidates, count, px + place * ux, py + place * uy, valid, objective, _INFINITE)
    valid = numbers() < spread(np.int32(neighbours))
    return _append(
        candidates,
        count,
        load(obstacles, DISC_APEX_X),
        load(obstacles, DISC_APEX_Y),
        valid,
        objective,
        _INFINITE,
    )


@inlined_kernel
def add_crossings(lines, objective, limit, count, candidates):
    """Add the crossings of lines that cost less than `limit` to `count` candidates;
    return how many there are.
    """
    for line in range(lines):
        px, py = spread(candidates[_POINT_X + line]), spread(candidates[_POINT_Y + line])
        ux, uy, begins = (
            spread(candidates[_ALONG_X + line]),
            spread(candidates[_ALONG_Y + line]),
            candidates[_FROM + line],
        )
        if begins == _INFINITE:
            continue
        for first in range(line & ~np.uint64(15), lines, _U16):
            if count > np.uint64(MOST_CANDIDATES):
                return count
            qx, qy, vx, vy = _line(candidates, first)
            sine = ux * vy - uy * vx
            own, other = ((qx - px) * vy - (qy - py) * vx) / sine, ((qx - px) * uy - (qy - py) * ux) / sine
            index = numbers() + spread(np.int32(first))
            valid = (
                (index > spread(np.int32(line)))
                & (index < spread(np.int32(lines)))
                & (magnitude(sine) > spread(PARALLEL))
            )
            valid = valid & (own > spread(begins)) & (other > load(candidates, _FROM + first))
            count = _append(candidates, count, px + own * ux, py + own * uy, valid, objective, limit)
    return count


@inlined_kernel
def _line(candidates, first):
    """Return points and directions of sixteen lines."""
    return (
        load(candidates, _POINT_X + first),
        load(candidates, _POINT_Y + first),
        load(candidates, _ALONG_X + first),
        load(candidates, _ALONG_Y + first),
    )


@inlined_kernel
def _append(candidates, count, x, y, valid, objective, limit):
    """Add those of sixteen velocities that are valid and cost less than `limit` to the candidates;
    return how many there are.
    """
    cost = deviation(objective, x, y)
    left = bits(valid & (cost < spread(limit)))
    if left != _U0:
        store(candidates, _HERE_X, x)
        store(candidates, _HERE_Y, y)
        store(candidates, _HERE_COST, cost)
        while left != _U0:
            place = first_bit(left)
            left &= left - _U1
            candidates[CANDIDATE_X + count], candidates[CANDIDATE_Y + count] = (
                candidates[_HERE_X + place],
                candidates[_HERE_Y + place],
            )
            candidates[CANDIDATE_COST + count] = candidates[_HERE_COST + place]
            count += _U1
    return count


@lean_kernel
def take_cheapest(candidates, count, wanted, limit, slots):
    """Take the cheapest candidates that cost less than `limit`, and strike them off.

    Parameters
    ----------
    candidates : (CANDIDATE_FLOATS,) float32
    count, wanted : uint64
        Candidates there are; how many to take, 16 at most.
    limit : float32
    slots : (CANDIDATE_SLOTS,) uint32
        Receives the numbers of the candidates, ascending.

    Returns
    -------
    uint64
        How many were taken.

    Notes
    -----
    A cost is halved in on below which as many lie as are wanted; costs so close together that this does not
    part them are taken in order. Twin: `tests/reference/sampled.py`.
    """
    store(candidates, CANDIDATE_COST + count, spread(_INFINITE))
    cheapest = _INFINITE
    for first in range(_U0, count, _U16):
        cheapest = min(cheapest, least(load(candidates, CANDIDATE_COST + first)))
    if not cheapest < limit or wanted == _U0:
        return _U0
    low, high = cheapest, limit  # fewer than wanted lie below `low`; `high` may have more
    if _below(candidates, count, high) > wanted:
        for _ in range(_HALVINGS):
            middle = low + (high - low) * _HALF
            found = _below(candidates, count, middle)
            if found > wanted:
                high = middle
            else:
                low = middle
                if found + np.uint64(2) >= wanted:
                    break
        high = low if _below(candidates, count, low) > _U0 else high
    taken = _U0
    for first in range(_U0, count, _U16):
        near = load(candidates, CANDIDATE_COST + first) < spread(high)
        append_lanes(slots, taken, near, numbers() + spread(np.int32(first)))
        taken += bit_count(bits(near))
        if taken >= wanted:
            break
    taken = min(taken, wanted)
    for place in range(taken):
        candidates[CANDIDATE_COST + np.uint64(slots[place])] = _INFINITE
    return taken


@inlined_kernel
def _below(candidates, count, cost):
    """Return how many candidates cost less."""
    found = _U0
    for first in range(_U0, count, _U16):
        found += bit_count(bits(load(candidates, CANDIDATE_COST + first) < spread(cost)))
    return found
