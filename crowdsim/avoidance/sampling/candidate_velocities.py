"""Seeds: velocities worth trying, found from the shape of the obstacles.

What a penalty jumps at are the legs of the cones of velocities that run into somebody, so the best velocity mostly lies on a leg or where two cross.
Seeds are the points of legs nearest to the preferred velocity, the crossings, and the apices, at which two keep their relative place. They cost no
sample: they are ranked by how far they deviate from the preferred and the present velocity, which bounds the penalty from below.
"""

from __future__ import annotations

import numpy as np

from crowdsim.avoidance.sampling.time_to_collision import DISC_APEX_X, DISC_APEX_Y, DISC_CLEARANCE, DISC_X, DISC_Y, SLAB_GAP, SLAB_X, SLAB_Y
from crowdsim.kernels.decorator import inlined_kernel, lean_kernel
from crowdsim.kernels.simd import append_set, bit_count, bits, choose, first_bit, least, load, magnitude, numbers, root, spread, store

MOST_DISCS, MOST_SLABS = 16, 8  # Obstacles whose legs and lines seed, nearest first. Crossings grow with the square of their number.
WIDER = np.float32(1e-3)  # Cones are widened by this share before they seed: a seed lies outside by more than float32 rounding, and costs 0.1 % at most.
PARALLEL = np.float32(1e-4)  # Sine of the angle below which two lines do not cross.
MOST_SEEDS = 480
_HALVINGS = 12  # Steps in which the cost below which sixteen seeds lie is found; what is left over in a tie is taken in order.

# Areas of a float32 array: lines (a point, a direction, the least place on the line that counts), then seeds, then sixteen numbers three times.
_LINES, _SEEDS = 64, MOST_SEEDS + 32
_POINT_X, _POINT_Y, _ALONG_X, _ALONG_Y, _FROM = (np.uint64(_LINES * area) for area in range(5))
SEED_X, SEED_Y, SEED_COST = (np.uint64(5 * _LINES + _SEEDS * area) for area in range(3))
_HERE_X, _HERE_Y, _HERE_COST = (np.uint64(5 * _LINES + 3 * _SEEDS + 16 * area) for area in range(3))
SEED_FLOATS, SEED_SLOTS = 5 * _LINES + 3 * _SEEDS + 3 * 16, 48

_F0, _F1, _HALF, _INFINITE = np.float32(0.0), np.float32(1.0), np.float32(0.5), np.float32(np.inf)
_U0, _U1, _U8, _U16, _BYTE = np.uint64(0), np.uint64(1), np.uint64(8), np.uint64(16), np.uint64(255)


@inlined_kernel
def strayed(x, y, from_x, from_y, weight):
    """Return what velocities cost for straying from the velocity (from_x, from_y), lanes of float32."""
    dx, dy = x - spread(from_x), y - spread(from_y)
    return spread(weight) * root(dx * dx + dy * dy)


@inlined_kernel
def deviation(aim, x, y):
    """Return what velocities cost for straying from the preferred and the present one.

    Parameters
    ----------
    aim : tuple of float32
        Preferred velocity x and y, present velocity x and y (m/s), the weights of both over the maximum speed (s/m), the maximum speed squared.
    x, y : lanes of float32, m/s

    Returns
    -------
    lanes of float32
        Infinite where the velocity is too fast.
    """
    wish_x, wish_y, own_x, own_y, wish_weight, own_weight, square = aim
    cost = strayed(x, y, wish_x, wish_y, wish_weight) + strayed(x, y, own_x, own_y, own_weight)
    return choose(x * x + y * y <= spread(square), cost, spread(_INFINITE))


@lean_kernel
def lay_out_lines(obstacles, discs, slabs, side, per_wall_horizon, seeds):
    """Write the legs of cones and the lines along walls on which the best velocity may lie.

    Parameters
    ----------
    obstacles : (OBSTACLE_FLOATS,) float32
        As in `impacts`.
    discs, slabs : uint64
        How many there are; the first `MOST_DISCS` and `MOST_SLABS` seed.
    side : float32
        +1: right legs come first, -1: left legs. It decides between seeds of equal cost, so that mirrored scenes stay mirrored.
    per_wall_horizon : float32, 1/s
    seeds : (SEED_FLOATS,) float32
        Receives the lines.

    Returns
    -------
    uint64
        Their number.

    Notes
    -----
    A leg touches the disc: its direction is that to the centre, turned by the angle whose sine is reach over distance. Velocities on the line along
    a wall come up to it at the horizon. Twin: `tests/reference/sampled.py`.
    """
    count = min(discs, np.uint64(MOST_DISCS))
    px, py, clear = load(obstacles, DISC_X), load(obstacles, DISC_Y), load(obstacles, DISC_CLEARANCE)
    square = px * px + py * py
    reach_squared = square - clear
    exists = reach_squared > spread(_F0)
    reach_squared = reach_squared * spread((_F1 + WIDER) * (_F1 + WIDER))
    leg, reach = root(choose(exists, square - reach_squared, spread(_F0))), root(choose(exists, reach_squared, spread(_F0)))
    begins = choose(exists, spread(_F0), spread(_INFINITE))
    for turn in range(np.uint64(2)):
        sign = spread(-side if turn == _U0 else side)
        place = turn * count
        store(seeds, _POINT_X + place, load(obstacles, DISC_APEX_X))
        store(seeds, _POINT_Y + place, load(obstacles, DISC_APEX_Y))
        store(seeds, _ALONG_X + place, (px * leg - sign * py * reach) / square)
        store(seeds, _ALONG_Y + place, (sign * px * reach + py * leg) / square)
        store(seeds, _FROM + place, begins)
    count += count
    for slab in range(min(slabs, np.uint64(MOST_SLABS))):
        nx, ny = obstacles[SLAB_X + slab], obstacles[SLAB_Y + slab]
        away = -obstacles[SLAB_GAP + slab] * per_wall_horizon
        seeds[_POINT_X + count], seeds[_POINT_Y + count], seeds[_FROM + count] = nx * away, ny * away, -_INFINITE
        seeds[_ALONG_X + count], seeds[_ALONG_Y + count] = -ny, nx
        count += _U1
    return count


@inlined_kernel
def seed_feet(obstacles, neighbours, lines, aim, seeds):
    """Write the points of lines nearest to the preferred velocity, and the apices of neighbours; return how many seeds there are."""
    count = _U0
    wish_x, wish_y = spread(aim[0]), spread(aim[1])
    for first in range(_U0, lines, _U16):
        px, py, ux, uy = _line(seeds, first)
        place = (wish_x - px) * ux + (wish_y - py) * uy
        counts = (place > load(seeds, _FROM + first)) & (numbers() + spread(np.int32(first)) < spread(np.int32(lines)))
        count = _append(seeds, count, px + place * ux, py + place * uy, counts, aim, _INFINITE)
    counts = numbers() < spread(np.int32(neighbours))
    return _append(seeds, count, load(obstacles, DISC_APEX_X), load(obstacles, DISC_APEX_Y), counts, aim, _INFINITE)


@inlined_kernel
def seed_crossings(lines, aim, limit, count, seeds):
    """Add the crossings of lines that cost less than `limit` to `count` seeds; return how many there are."""
    for line in range(lines):
        px, py = spread(seeds[_POINT_X + line]), spread(seeds[_POINT_Y + line])
        ux, uy, begins = spread(seeds[_ALONG_X + line]), spread(seeds[_ALONG_Y + line]), seeds[_FROM + line]
        if begins == _INFINITE:
            continue
        for first in range(line & ~np.uint64(15), lines, _U16):
            if count > np.uint64(MOST_SEEDS):
                return count
            qx, qy, vx, vy = _line(seeds, first)
            sine = ux * vy - uy * vx
            own, other = ((qx - px) * vy - (qy - py) * vx) / sine, ((qx - px) * uy - (qy - py) * ux) / sine
            index = numbers() + spread(np.int32(first))
            counts = (index > spread(np.int32(line))) & (index < spread(np.int32(lines))) & (magnitude(sine) > spread(PARALLEL))
            counts = counts & (own > spread(begins)) & (other > load(seeds, _FROM + first))
            count = _append(seeds, count, px + own * ux, py + own * uy, counts, aim, limit)
    return count


@inlined_kernel
def _line(seeds, first):
    """Return points and directions of sixteen lines."""
    return load(seeds, _POINT_X + first), load(seeds, _POINT_Y + first), load(seeds, _ALONG_X + first), load(seeds, _ALONG_Y + first)


@inlined_kernel
def _append(seeds, count, x, y, counts, aim, limit):
    """Add those of sixteen velocities that count and cost less than `limit` to the seeds; return how many there are."""
    cost = deviation(aim, x, y)
    left = bits(counts & (cost < spread(limit)))
    if left != _U0:
        store(seeds, _HERE_X, x)
        store(seeds, _HERE_Y, y)
        store(seeds, _HERE_COST, cost)
        while left != _U0:
            place = first_bit(left)
            left &= left - _U1
            seeds[SEED_X + count], seeds[SEED_Y + count] = seeds[_HERE_X + place], seeds[_HERE_Y + place]
            seeds[SEED_COST + count] = seeds[_HERE_COST + place]
            count += _U1
    return count


@lean_kernel
def take_cheapest(seeds, count, wanted, limit, slots):
    """Take the cheapest seeds that cost less than `limit`, and strike them off.

    Parameters
    ----------
    seeds : (SEED_FLOATS,) float32
    count, wanted : uint64
        Seeds there are; how many to take, 16 at most.
    limit : float32
    slots : (SEED_SLOTS,) uint32
        Receives the numbers of the seeds, ascending.

    Returns
    -------
    uint64
        How many were taken.

    Notes
    -----
    A cost is halved in on below which as many lie as are wanted; costs so close together that this does not part them are taken in order.
    Twin: `tests/reference/sampled.py`.
    """
    store(seeds, SEED_COST + count, spread(_INFINITE))
    cheapest = _INFINITE
    for first in range(_U0, count, _U16):
        cheapest = min(cheapest, least(load(seeds, SEED_COST + first)))
    if not cheapest < limit or wanted == _U0:
        return _U0
    low, high = cheapest, limit  # fewer than wanted lie below `low`; `high` may have more
    if _below(seeds, count, high) > wanted:
        for _ in range(_HALVINGS):
            middle = low + (high - low) * _HALF
            found = _below(seeds, count, middle)
            if found > wanted:
                high = middle
            else:
                low = middle
                if found + np.uint64(2) >= wanted:
                    break
        high = low if _below(seeds, count, low) > _U0 else high
    taken = _U0
    for first in range(_U0, count, _U16):
        near = bits(load(seeds, SEED_COST + first) < spread(high))
        append_set(slots, taken, first, near & _BYTE)
        taken += bit_count(near & _BYTE)
        append_set(slots, taken, first + _U8, near >> _U8)
        taken += bit_count(near >> _U8)
        if taken >= wanted:
            break
    taken = min(taken, wanted)
    for place in range(taken):
        seeds[SEED_COST + np.uint64(slots[place])] = _INFINITE
    return taken


@inlined_kernel
def _below(seeds, count, cost):
    """Return how many seeds cost less."""
    found = _U0
    for first in range(_U0, count, _U16):
        found += bit_count(bits(load(seeds, SEED_COST + first) < spread(cost)))
    return found
