"""Linear programs over half-planes of velocities:
the best permitted velocity, or the one that breaks the constraints least.

Half-plane k permits the velocities v with ``normal_k . v >= offset_k``; normals have unit length. The three
programs are those of [van den Berg 2011], section 5.3, with RVO2's order, tolerance and treatment of failure.
They work on sixteen half-planes at once; the order in which constraints are added is kept.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np

from crowdsim.kernels.decorator import inlined_kernel, lean_kernel
from crowdsim.kernels.simd import (
    LANES,
    bits,
    choose,
    first_bit,
    greatest,
    least,
    load,
    magnitude,
    numbers,
    root,
    spread,
    store,
)

MOST_LINES = 128  # Half-planes of one agent.
# Sine of the angle below which two boundaries count as parallel; RVO2's RVO_EPSILON.
PARALLEL = np.float32(1e-5)

# Areas of a float32 array: the half-planes, and those of the third program.
_AREA = MOST_LINES + LANES
NORMAL_X, NORMAL_Y, OFFSET = (np.uint64(_AREA * area) for area in range(3))
_PROJECTED = np.uint64(3 * _AREA)
LINE_FLOATS = 6 * _AREA

_F0, _F1 = np.float32(0.0), np.float32(1.0)
_INFINITE = np.float32(np.inf)
_U0, _U16 = np.uint64(0), np.uint64(16)


@inlined_kernel
def first_broken(lines, base, begin, count, x, y, allowed):
    """Return the first half-plane from `begin` on that (x, y) breaks by more than `allowed`;
    `count` if there is none.

    Parameters
    ----------
    lines : (LINE_FLOATS,) float32
    base : uint64
        Offset of the set of half-planes within `lines`.
    begin, count : uint64
    x, y, allowed : float32, m/s

    Notes
    -----
    Twin: `tests/reference/orca.py`.
    """
    for first in range(begin & ~np.uint64(15), count, _U16):
        along = load(lines, base + NORMAL_X + first) * spread(x) + load(
            lines, base + NORMAL_Y + first
        ) * spread(y)
        index = numbers() + spread(np.int32(first))
        inside = (index >= spread(np.int32(begin))) & (index < spread(np.int32(count)))
        broken = bits((load(lines, base + OFFSET + first) - along > spread(allowed)) & inside)
        if broken != _U0:
            return first + first_bit(broken)
    return count


@inlined_kernel
def best_on_line(lines, base, line, speed, x, y, outwards, preferred_x, preferred_y):
    """Find the best velocity on the boundary of one half-plane that keeps the half-planes before it and the
    speed limit.

    Parameters
    ----------
    lines : (LINE_FLOATS,) float32
    base : uint64
        Offset of the set of half-planes within `lines`.
    line : uint64
    speed : float32, m/s
        Radius of the disc of velocities.
    x, y : float32
        The preferred velocity, m/s; or a direction in which to go as far as possible, where `outwards` is
        true.
    outwards : bool
    preferred_x, preferred_y : float32, m/s
        Where the direction is square to the boundary, every point is equally good, and the one nearest to
        this velocity is taken.

    Returns
    -------
    exists : bool
    x, y : float32, m/s

    Notes
    -----
    The paper's 1-D program. RVO2 takes the left end where every point is equally good; here mirrored scenes
    stay mirrored, and an agent that is wedged in between two others still goes in its preferred direction as
    far as it costs nothing. Twin: `tests/reference/orca.py`.
    """
    nx, ny, offset = lines[base + NORMAL_X + line], lines[base + NORMAL_Y + line], lines[base + OFFSET + line]
    chord = speed * speed - offset * offset
    if not chord >= _F0:  # the whole boundary is too fast
        return False, _F0, _F0
    right = np.sqrt(chord)
    left = -right
    for first in range(_U0, line, _U16):
        mx, my = load(lines, base + NORMAL_X + first), load(lines, base + NORMAL_Y + first)
        before = numbers() + spread(np.int32(first)) < spread(np.int32(line))
        sine = spread(nx) * my - spread(ny) * mx
        slack = spread(offset) * (spread(nx) * mx + spread(ny) * my) - load(lines, base + OFFSET + first)
        crosses = magnitude(sine) > spread(PARALLEL)
        if bits(before & (magnitude(sine) <= spread(PARALLEL)) & (slack < spread(_F0))) != _U0:
            return False, _F0, _F0
        cut = slack / sine
        right = min(right, least(choose(before & crosses & (sine > spread(_F0)), cut, spread(_INFINITE))))
        left = max(left, greatest(choose(before & crosses & (sine < spread(_F0)), cut, spread(-_INFINITE))))
    if left > right:
        return False, _F0, _F0
    along = ny * x - nx * y
    if outwards and abs(along) > PARALLEL:
        place = right if along > _F0 else left
    else:
        if outwards:
            along = ny * preferred_x - nx * preferred_y
        place = min(max(along, left), right)
    place += _F0  # the least of -0 and +0 may be either: make it +0
    return True, offset * nx + place * ny, offset * ny - place * nx


@lean_kernel
def best_velocity(lines, base, count, speed, x, y, start_x, start_y, outwards, preferred_x, preferred_y):
    """Find the permitted velocity that is best, adding the half-planes in their order.

    Parameters
    ----------
    lines : (LINE_FLOATS,) float32
    base, count : uint64
        Offset of the set of half-planes within `lines`, and their number.
    speed : float32, m/s
        Radius of the disc of velocities.
    x, y : float32
        The preferred velocity, m/s; or a unit direction in which to go as far as possible, where `outwards`
        is true.
    start_x, start_y : float32, m/s
        The best velocity in the disc alone.
    outwards : bool
    preferred_x, preferred_y : float32, m/s
        See `best_on_line`.

    Returns
    -------
    failed : uint64
        The half-plane at which no velocity was left; `count` if one was found.
    x, y : float32, m/s
        The best velocity for the half-planes before `failed`.
    binding : int64
        The half-plane on whose boundary that lies; -1 where the start was kept.

    Notes
    -----
    The paper's 2-D program. Twin: `tests/reference/orca.py`.
    """
    best_x, best_y, binding = start_x, start_y, np.int64(-1)
    line = first_broken(lines, base, _U0, count, best_x, best_y, _F0)
    while line < count:
        exists, found_x, found_y = best_on_line(
            lines, base, line, speed, x, y, outwards, preferred_x, preferred_y
        )
        if not exists:
            break
        best_x, best_y, binding = found_x, found_y, np.int64(line)
        line = first_broken(lines, base, line + np.uint64(1), count, best_x, best_y, _F0)
    return line, best_x, best_y, binding


@lean_kernel
def least_violation(lines, walls, count, failed, speed, x, y, binding, preferred_x, preferred_y):
    """Find the velocity whose deepest violation of the half-planes of agents is least,
    while those of walls are kept.

    Parameters
    ----------
    lines : (LINE_FLOATS,) float32
    walls, count : uint64
        The first `walls` of the `count` half-planes are those of walls, which are not relaxed.
    failed : uint64
        Where `best_velocity` stopped.
    speed : float32, m/s
    x, y : float32, m/s
        What it had found.
    binding : int64
    preferred_x, preferred_y : float32, m/s
        The preferred velocity; decides between velocities that are equally good.

    Returns
    -------
    x, y : float32, m/s
    binding : int64
        The half-plane that is violated most.

    Notes
    -----
    The paper's 3-D program. The boundary between "line i is violated more" and "line j is violated more" is
    ``(n_j - n_i) . v = offset_j - offset_i``: a half-plane again. Where rounding leaves nothing of it, what
    was found is kept, as in RVO2. Twin: `tests/reference/orca.py`.
    """
    line = first_broken(lines, _U0, failed, count, x, y, _F0)
    while line < count:
        nx, ny, offset = lines[NORMAL_X + line], lines[NORMAL_Y + line], lines[OFFSET + line]
        for first in range(_U0, line, _U16):
            mx, my, other = (
                load(lines, NORMAL_X + first),
                load(lines, NORMAL_Y + first),
                load(lines, OFFSET + first),
            )
            index = numbers() + spread(np.int32(first))
            dx, dy = mx - spread(nx), my - spread(ny)
            length = root(dx * dx + dy * dy)
            same = (magnitude(spread(nx) * my - spread(ny) * mx) <= spread(PARALLEL)) & (
                spread(nx) * mx + spread(ny) * my > spread(_F0)
            )
            is_wall = index < spread(np.int32(walls))
            # A line that points the same way constrains nothing: the zero normal with offset -1 is kept by
            # every velocity.
            store(
                lines,
                _PROJECTED + NORMAL_X + first,
                choose(is_wall, mx, choose(same, spread(_F0), dx / length)),
            )
            store(
                lines,
                _PROJECTED + NORMAL_Y + first,
                choose(is_wall, my, choose(same, spread(_F0), dy / length)),
            )
            store(
                lines,
                _PROJECTED + OFFSET + first,
                choose(is_wall, other, choose(same, spread(-_F1), (other - spread(offset)) / length)),
            )
        considered = max(line, walls)
        for wall in range(line, walls):  # only when the walls alone leave nothing
            for area in (NORMAL_X, NORMAL_Y, OFFSET):
                lines[_PROJECTED + area + wall] = lines[area + wall]
        reached, found_x, found_y, _ = best_velocity(
            lines,
            _PROJECTED,
            considered,
            speed,
            nx,
            ny,
            nx * speed,
            ny * speed,
            True,
            preferred_x,
            preferred_y,
        )
        if reached == considered:
            x, y = found_x, found_y
        binding = np.int64(line)
        line = first_broken(lines, _U0, line + np.uint64(1), count, x, y, offset - (nx * x + ny * y))
    return x, y, binding


@inlined_kernel
def best_or_least_violation(lines, walls, count, speed, preferred_x, preferred_y):
    """Find the permitted velocity that is nearest to the preferred one; where there is none, the one whose
    deepest violation is least.

    Parameters
    ----------
    lines, walls, count, speed, preferred_x, preferred_y : as for `least_violation`

    Returns
    -------
    failed : uint64
        As of `best_velocity`: `count` if there is a permitted velocity, below `walls` if walls leave none.
    x, y : float32, m/s
    binding : int64
        The half-plane that binds, or is violated most; -1 where the preferred velocity is permitted.
    """
    failed, x, y, binding = best_velocity(
        lines, _U0, count, speed, preferred_x, preferred_y, preferred_x, preferred_y, False, preferred_x,
        preferred_y,
    )  # fmt: skip
    if failed < count:
        x, y, binding = least_violation(
            lines, walls, count, failed, speed, x, y, binding, preferred_x, preferred_y
        )
    return failed, x, y, binding
