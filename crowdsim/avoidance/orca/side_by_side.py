"""The linear programs of sixteen agents side by side.

The programs of `crowdsim.avoidance.orca.linear_programs` look at sixteen half-planes of one agent at once,
but solve one half-plane after another: each waits for the one before it. Here lanes are agents, so that
sixteen wait together. Every number is what the programs of one agent alone give, to the bit: with each
half-plane the same arithmetic is done in the same order, and lanes that have nothing to do at it keep what
they have. The work grows with the square of the number of half-planes, as some agent breaks nearly each of
them, and that of one agent alone does not: agents with more than `MOST_TOGETHER` are solved alone.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np

from crowdsim.avoidance.orca.linear_programs import NORMAL_X, NORMAL_Y, OFFSET, PARALLEL
from crowdsim.kernels.decorator import inlined_kernel
from crowdsim.kernels.simd import LANES, bits, choose, load, magnitude, root, spread, store, turn

# Half-planes of an agent that is solved beside others. With more it takes longer than alone.
MOST_TOGETHER = LANES
ROW_FLOATS = 3 * MOST_TOGETHER  # Numbers of an agent's half-planes.

# Numbers of one half-plane of sixteen agents: x and y of the normals, and offsets.
_X, _Y, _OFFSET, _PLANE = (np.uint64(LANES * place) for place in range(4))
_ROW = np.uint64(ROW_FLOATS)
PROJECTED = np.uint64(MOST_TOGETHER) * _PLANE
PLANES_FLOATS = 2 * int(PROJECTED)

_F0, _F1 = np.float32(0.0), np.float32(1.0)
_U0 = np.uint64(0)


@inlined_kernel
def copy_row(lines, table, row):
    """Copy an agent's half-planes into its row of a table.

    Parameters
    ----------
    lines : (LINE_FLOATS,) float32
        As in `linear_programs`; those behind the first MOST_TOGETHER are left out.
    table : (k * ROW_FLOATS,) float32
        Receives x and y of their normals, and their offsets.
    row : uint64

    Notes
    -----
    Twin: three slices; `tests/avoidance/test_side_by_side.py`.
    """
    to = row * _ROW
    store(table, to + _X, load(lines, NORMAL_X))
    store(table, to + _Y, load(lines, NORMAL_Y))
    store(table, to + _OFFSET, load(lines, OFFSET))


@inlined_kernel
def lay_side_by_side(table, first_row, planes):
    """Lay the half-planes of sixteen agents side by side.

    Parameters
    ----------
    table : (k * ROW_FLOATS,) float32
        Half-planes of agents, one agent after the other.
    first_row : uint64
        The first of the sixteen agents.
    planes : (PLANES_FLOATS,) float32
        Receives the half-planes by their numbers. Behind those of an agent lies what lay behind them.

    Notes
    -----
    Twin: `crowdsim.kernels.simd.plain.turn`.
    """
    row = first_row * _ROW
    turn(table, row + _X, _ROW, planes, _X, _PLANE)
    turn(table, row + _Y, _ROW, planes, _Y, _PLANE)
    turn(table, row + _OFFSET, _ROW, planes, _OFFSET, _PLANE)


@inlined_kernel
def best_velocities(
    planes, base, counts, most, speed, x, y, start_x, start_y, outwards, preferred_x, preferred_y
):
    """Find for sixteen agents what `best_velocity` finds for one.

    Parameters
    ----------
    planes : (PLANES_FLOATS,) float32
        Half-planes side by side.
    base : uint64
        Offset of the set of half-planes within `planes`.
    counts : lanes of int32
        How many half-planes each has; of one with 0 the start is returned.
    most : uint64
        The greatest of them, or more.
    speed, x, y, start_x, start_y, preferred_x, preferred_y : lanes of float32, m/s
        As for `best_velocity`.
    outwards : bool

    Returns
    -------
    failed : lanes of int32
    x, y : lanes of float32, m/s
    binding : lanes of int32

    Notes
    -----
    Twin: `crowdsim.avoidance.orca.linear_programs.best_velocity`, to the bit.
    """
    zero, parallel = spread(_F0), spread(PARALLEL)
    best_x, best_y, binding = start_x, start_y, spread(np.int32(-1))
    for line in range(most):
        at = base + line * _PLANE
        nx, ny, offset = load(planes, at + _X), load(planes, at + _Y), load(planes, at + _OFFSET)
        number = spread(np.int32(line))
        broken = (offset - (nx * best_x + ny * best_y) > zero) & (number < counts)
        if bits(broken) == _U0:
            continue
        # what is left of the boundary in the disc of velocities; nothing where the whole of it is too fast
        chord = speed * speed - offset * offset
        exists = broken & (chord >= zero)
        lost = broken & (chord < zero)
        right = root(choose(exists, chord, zero))
        left = zero - right
        for before in range(line):
            past = base + before * _PLANE
            mx, my = load(planes, past + _X), load(planes, past + _Y)
            sine = nx * my - ny * mx
            slack = offset * (nx * mx + ny * my) - load(planes, past + _OFFSET)
            cut = slack / sine
            right = choose((sine > parallel) & (cut < right), cut, right)
            left = choose((sine < zero - parallel) & (cut > left), cut, left)
            lost = lost | ((magnitude(sine) <= parallel) & (slack < zero))  # parallel and beyond it
        lost = lost | (left > right)
        along = ny * x - nx * y
        if outwards:
            end = choose(along > zero, right, left)
            beside = ny * preferred_x - nx * preferred_y
            place = choose(magnitude(along) > parallel, end, _between(beside, left, right))
        else:
            place = _between(along, left, right)
        place = place + zero  # of -0 and +0 it is +0
        best_x = choose(lost, best_x, choose(exists, offset * nx + place * ny, best_x))
        best_y = choose(lost, best_y, choose(exists, offset * ny - place * nx, best_y))
        binding = choose(lost, binding, choose(exists, number, binding))
        counts = choose(broken & lost, number, counts)  # of one without such a velocity no more is asked
    return counts, best_x, best_y, binding


@inlined_kernel
def _between(x, left, right):
    """Return x, no less than `left`, no more than `right`."""
    x = choose(x < left, left, x)
    return choose(x > right, right, x)


@inlined_kernel
def _project(planes, line, nx, ny, offset, walls):
    """Write the boundaries on which the half-planes before `line` are violated as much as that one, and those
    of walls as they are.
    """
    zero, one = spread(_F0), spread(_F1)
    for before in range(line):
        past = before * _PLANE
        mx, my, other = load(planes, past + _X), load(planes, past + _Y), load(planes, past + _OFFSET)
        dx, dy = mx - nx, my - ny
        length = root(dx * dx + dy * dy)
        # One that points the same way constrains nothing: the zero normal with offset -1 is kept by every
        # velocity.
        same = (magnitude(nx * my - ny * mx) <= spread(PARALLEL)) & (nx * mx + ny * my > zero)
        is_wall = spread(np.int32(before)) < walls
        to = PROJECTED + past
        store(planes, to + _X, choose(is_wall, mx, choose(same, zero, dx / length)))
        store(planes, to + _Y, choose(is_wall, my, choose(same, zero, dy / length)))
        store(
            planes, to + _OFFSET, choose(is_wall, other, choose(same, zero - one, (other - offset) / length))
        )


@inlined_kernel
def least_violations(
    planes, walls, most_walls, counts, most, failed, speed, x, y, binding, preferred_x, preferred_y
):
    """Find for sixteen agents what `least_violation` finds for one.

    Parameters
    ----------
    planes : (PLANES_FLOATS,) float32
        Half-planes side by side; the second half is overwritten.
    walls, counts : lanes of int32
        The first `walls` of the `counts` half-planes of an agent are those of walls; 0 and 0 of none.
    most_walls, most : uint64
        The greatest of each, or more.
    failed : lanes of int32
        Where `best_velocities` stopped.
    speed, x, y, preferred_x, preferred_y : lanes of float32, m/s
        As for `least_violation`.
    binding : lanes of int32

    Returns
    -------
    x, y : lanes of float32, m/s
    binding : lanes of int32

    Notes
    -----
    Twin: `crowdsim.avoidance.orca.linear_programs.least_violation`, to the bit.
    """
    none, allowed = spread(np.int32(0)), spread(_F0)
    for line in range(most):
        at = line * _PLANE
        nx, ny, offset = load(planes, at + _X), load(planes, at + _Y), load(planes, at + _OFFSET)
        number = spread(np.int32(line))
        broken = (offset - (nx * x + ny * y) > allowed) & (number >= failed) & (number < counts)
        if bits(broken) == _U0:
            continue
        _project(planes, line, nx, ny, offset, walls)
        for wall in range(line, most_walls):  # only when the walls alone leave nothing
            for part in (_X, _Y, _OFFSET):
                place = wall * _PLANE + part
                store(planes, PROJECTED + place, load(planes, place))
        considered = choose(broken, choose(walls > number, walls, number), none)
        reached, found_x, found_y, _ = best_velocities(
            planes,
            PROJECTED,
            considered,
            max(line, most_walls),
            speed,
            nx,
            ny,
            nx * speed,
            ny * speed,
            True,
            preferred_x,
            preferred_y,
        )
        better = broken & (reached == considered)
        x, y = choose(better, found_x, x), choose(better, found_y, y)
        binding = choose(broken, number, binding)
        allowed = choose(broken, offset - (nx * x + ny * y), allowed)
    return x, y, binding
