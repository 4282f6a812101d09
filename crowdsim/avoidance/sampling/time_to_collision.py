"""Time to collision: how soon a velocity would run into neighbours and into walls,
for sixteen velocities at once.

The sampling models see every obstacle as one of two shapes. A *disc* is another agent, grown by the agent's
own radius, or the end of a wall that sticks out; a *slab* is the side of a wall. A collision after time t
counts by its *urgency*, the time horizon over t: 1 at the horizon, 2 at half of it, never infinite, since
discs that touch or overlap are treated as if a small gap was left. So only what approaches is urgent,
touching or not, and urgency is continuous where agents come into contact.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np

from crowdsim.avoidance.neighbour_model import (
    NEIGHBOUR_RADIUS,
    NEIGHBOUR_SHARE,
    NEIGHBOUR_VX,
    NEIGHBOUR_VY,
    NEIGHBOUR_X,
    NEIGHBOUR_Y,
)
from crowdsim.avoidance.neighbours import MOST_NEIGHBOURS
from crowdsim.avoidance.orca.wall_planes import MOST_WALLS
from crowdsim.geometry.walls import (
    ALONG_X,
    ALONG_Y,
    LEFT_CORNER,
    LEFT_X,
    LEFT_Y,
    RIGHT_CORNER,
    RIGHT_X,
    RIGHT_Y,
)
from crowdsim.kernels.decorator import inlined_kernel, lean_kernel
from crowdsim.kernels.simd import bits, choose, first_bit, greatest, load, numbers, root, spread, store

# Touching and overlapping discs are treated as if the squared distance to the edge was this share of the
# squared reach: 4 mm between two agents of 0.2 m. Larger keeps agents apart in crowds where there is no room;
# much smaller meets rounding.
GAP = np.float32(0.02)
# The same share, for the time to collision: agents that are nearer, or overlap, count as 4 cm away. Where all
# touch, closing in slowly is then better than closing in fast; smaller makes all of it equally bad, and
# crowds are squeezed (16 cm on a circle of 80).
NEAR = np.float32(0.2)
# Cosine of the angle to the backward direction within which an agent counts as behind; towards the side it
# fades out.
BEHIND = np.float32(0.5)
# Clearances are taken to be larger by this factor: what grazes a disc by less than 0.3 mm passes. Agents that
# avoided by the exact leg of a cone, as geometric models do, would otherwise be on either side of it by the
# chance of rounding.
GRAZE = np.float32(1.00001)
# A millimetre: the same for walls. Agents are clipped to walls exactly, so that standing at a wall is
# touching it.
WALL_GAP_M = 1e-3
# Share of the maximum speed: two that drift past each other more slowly go straight at each other, and the
# preferred side decides.
STRAIGHT = np.float32(0.01)

# Areas of a float32 array with what is known of the obstacles: discs (neighbours first, then ends of walls),
# then slabs.
_DISCS, _SLABS = MOST_NEIGHBOURS + 2 * MOST_WALLS + 16, MOST_WALLS + 16
(
    DISC_X,
    DISC_Y,
    DISC_CLEARANCE,
    DISC_RATE,
    DISC_APEX_X,
    DISC_APEX_Y,
    DISC_SCALE,
    DISC_AHEAD_X,
    DISC_AHEAD_Y,
    DISC_TURN,
) = (np.uint64(_DISCS * area) for area in range(10))
SLAB_X, SLAB_Y, SLAB_GAP, SLAB_RATE, SLAB_LEFT, SLAB_RIGHT = (
    np.uint64(10 * _DISCS + _SLABS * area) for area in range(6)
)
OBSTACLE_FLOATS = 10 * _DISCS + 6 * _SLABS

# Areas of a float32 array with what neighbours want, beside those of `half_planes`.
PREFERRED_X, PREFERRED_Y = np.uint64(0), np.uint64(MOST_NEIGHBOURS + 16)
PREFERRED_FLOATS = 2 * (MOST_NEIGHBOURS + 16)

# An urgency up to this is none: velocities often lie at the horizon exactly, and rounding must not decide the
# diagnosis.
COLLISION = np.float32(1.0001)

_F0, _F1, _HALF = np.float32(0.0), np.float32(1.0), np.float32(0.5)
_LEAST_CLEARANCE = np.float32(1e-12)  # m^2; keeps urgencies finite for agents without size.
_U0, _U1, _U16 = np.uint64(0), np.uint64(1), np.uint64(16)


@inlined_kernel
def _cut(x):
    """Return lanes cut to 0..1."""
    return choose(x > spread(_F0), choose(x < spread(_F1), x, spread(_F1)), spread(_F0))


@inlined_kernel
def _blocked(vx, vy, preferred_x, preferred_y):
    """Return the share of their preferred speed that agents lack in their preferred direction, lanes;
    0 where that speed is 0.
    """
    square = preferred_x * preferred_x + preferred_y * preferred_y
    return _cut(
        choose(
            square > spread(_F0), spread(_F1) - (vx * preferred_x + vy * preferred_y) / square, spread(_F0)
        )
    )


@inlined_kernel
def lay_out_neighbours(
    neighbours,
    preferred_velocities,
    count,
    vx,
    vy,
    preferred_x,
    preferred_y,
    radius,
    speed,
    horizon,
    behind,
    jam,
    side,
    obstacles,
):
    """Write the discs of neighbours.

    Parameters
    ----------
    neighbours : (NEIGHBOUR_FLOATS,) float32
        By area: relative position (m), velocity (m/s), radius (m), the agent's share of avoiding it.
    preferred_velocities : (PREFERRED_FLOATS,) float32, m/s
        By area: preferred velocity of the neighbour.
    count : uint64
    vx, vy, preferred_x, preferred_y : float32, m/s
        Velocity and preferred velocity of the agent.
    radius, speed : float32, m and m/s, > 0
        Of the agent; `speed` is its maximum speed.
    horizon : float32, s
    behind : float32, 0..1
        Share of the horizon that counts towards those behind.
    jam : float32
        What `NEAR` is between two that want to go in the same direction and are blocked by a jam; no smaller
        than `NEAR` anywhere.
    side : float32
        +1: agents that go straight at each other pass on the right, -1: on the left.
    obstacles : (OBSTACLE_FLOATS,) float32
        Receives discs 0 to `count`; what lies up to 15 places behind is overwritten.

    Notes
    -----
    Reciprocal velocity obstacle ([van den Berg 2008]): a velocity v of the agent counts as the relative
    velocity ``(v - apex) / share`` with ``apex = (1 - share) own + share other``: ``2 v - own - other``
    between two that share the work, ``v`` towards one that stands. The turn says which side is to be kept
    off, +1 the left: where the preferred velocities of the two carry the other to one side, that side, so
    that one passes behind it; where they go straight at each other, by `side`. For both of a pair the drift
    is the same. Source of the side: [Mononen 2010], Custom hRVO, and the facts of DetourCrowd
    ([Recast 2009]). Those behind count for less, since braking is else as bad as running into the one ahead:
    an agent that follows close by seems to be run into. Measured on 80 agents that change places on a circle:
    with all counting alike they were squeezed by 14 cm, with 0.4 by 2 cm. From `NEAR` to `jam` it goes with
    the share of their speeds that each of the two lacks and the cosine of the angle between their preferred
    velocities. Twin: `tests/reference/sampled.py`.
    """
    zero, per_speed = spread(_F0), spread(_F1 / speed)
    preferred_speed = np.sqrt(preferred_x * preferred_x + preferred_y * preferred_y)
    own_wx, own_wy = spread(preferred_x), spread(preferred_y)
    blocked = _blocked(spread(vx), spread(vy), own_wx, own_wy)
    fully_behind = speed / (preferred_speed * BEHIND) if preferred_speed > _F0 else _F0
    for first in range(_U0, count, _U16):
        px, py = load(neighbours, NEIGHBOUR_X + first), load(neighbours, NEIGHBOUR_Y + first)
        share = load(neighbours, NEIGHBOUR_SHARE + first)
        reach, square = spread(radius) + load(neighbours, NEIGHBOUR_RADIUS + first), px * px + py * py
        reach_squared = reach * reach
        clear, least_clear = (
            (square - reach_squared) * spread(GRAZE),
            spread(GAP) * reach_squared + spread(_LEAST_CLEARANCE),
        )
        clear = choose(clear > least_clear, clear, least_clear)
        distance = root(square)
        scale = choose(distance > zero, per_speed / distance, zero)
        ax, ay = px * scale, py * scale
        wx, wy = (
            load(preferred_velocities, PREFERRED_X + first),
            load(preferred_velocities, PREFERRED_Y + first),
        )
        ox, oy = load(neighbours, NEIGHBOUR_VX + first), load(neighbours, NEIGHBOUR_VY + first)
        turn = ax * (wy - own_wy) - ay * (wx - own_wx)
        keep_off = choose(turn * spread(side) > spread(-STRAIGHT), spread(side), spread(-side))
        store(obstacles, DISC_X + first, px)
        store(obstacles, DISC_Y + first, py)
        store(obstacles, DISC_CLEARANCE + first, clear)
        back = _cut(zero - (ax * own_wx + ay * own_wy) * spread(fully_behind))
        speeds = root(wx * wx + wy * wy) * spread(preferred_speed)
        alike = _cut(choose(speeds > zero, (wx * own_wx + wy * own_wy) / speeds, zero))
        near = spread(NEAR) + spread(max(jam - NEAR, _F0)) * alike * blocked * _blocked(ox, oy, wx, wy)
        nearest = near * reach_squared + spread(_LEAST_CLEARANCE)
        own_horizon = spread(horizon) - back * spread(horizon * (_F1 - behind))
        store(obstacles, DISC_RATE + first, own_horizon / choose(clear > nearest, clear, nearest))
        store(obstacles, DISC_APEX_X + first, spread(vx) + share * (ox - spread(vx)))
        store(obstacles, DISC_APEX_Y + first, spread(vy) + share * (oy - spread(vy)))
        store(obstacles, DISC_SCALE + first, spread(_F1) / share)
        store(obstacles, DISC_AHEAD_X + first, ax)
        store(obstacles, DISC_AHEAD_Y + first, ay)
        store(obstacles, DISC_TURN + first, keep_off)


@lean_kernel
def lay_out_walls(shape, link, found, count, x, y, radius, horizon, side, obstacles, discs):
    """Write the slabs of walls, and the discs of their ends that stick out.

    Parameters
    ----------
    shape, link : (m, 6) float64 and (m, 4) int64
        As in `WallFrame`.
    found : (MOST_WALLS,) int64
        Walls whose free side the agent is on, nearest first.
    count : int
    x, y, radius : float, m
        Of the agent.
    horizon : float, s
    side : float
        +1 or -1: which end comes first. It decides between candidates that are equally good, so that mirrored
        scenes stay mirrored.
    obstacles : (OBSTACLE_FLOATS,) float32
        Receives slabs 0 to `count`, and discs from `discs` on.
    discs : uint64
        Discs of neighbours.

    Returns
    -------
    uint64
        Number of discs, those of neighbours included. The end that two walls share is one disc.

    Notes
    -----
    Twin: `tests/reference/sampled.py`.
    """
    end = discs
    for nth in range(np.uint64(count)):
        wall = found[nth]
        ux, uy = shape[wall, ALONG_X], shape[wall, ALONG_Y]
        lx, ly = shape[wall, LEFT_X] - x, shape[wall, LEFT_Y] - y
        rx, ry = shape[wall, RIGHT_X] - x, shape[wall, RIGHT_Y] - y
        # the mean of both ends', so that mirrored walls give the same
        height = 0.5 * ((ly * ux - lx * uy) + (ry * ux - rx * uy))
        gap = max(height - radius, 0.0)
        obstacles[SLAB_X + nth], obstacles[SLAB_Y + nth] = np.float32(uy), np.float32(-ux)
        obstacles[SLAB_GAP + nth], obstacles[SLAB_RATE + nth] = (
            np.float32(gap),
            np.float32(horizon / max(gap, WALL_GAP_M)),
        )
        obstacles[SLAB_LEFT + nth], obstacles[SLAB_RIGHT + nth] = (
            np.float32(lx * ux + ly * uy),
            np.float32(rx * ux + ry * uy),
        )
        for turn in range(2):
            if (turn == 0) == (side > 0.0):
                px, py, sticks_out = lx, ly, link[wall, LEFT_CORNER] != 0
            else:
                px, py, sticks_out = rx, ry, link[wall, RIGHT_CORNER] != 0
            if sticks_out:
                end = _add_end(
                    obstacles,
                    discs,
                    end,
                    np.float32(px),
                    np.float32(py),
                    np.float32(radius),
                    np.float32(horizon),
                )
    return end


@inlined_kernel
def _add_end(obstacles, first, end, px, py, radius, horizon):
    """Write one disc that stands at (px, py), unless it is there already; return the number of discs."""
    for disc in range(first, end):
        if obstacles[DISC_X + disc] == px and obstacles[DISC_Y + disc] == py:
            return end
    reach_squared = radius * radius
    clear = max((px * px + py * py - reach_squared) * GRAZE, GAP * reach_squared + _LEAST_CLEARANCE)
    obstacles[DISC_X + end], obstacles[DISC_Y + end], obstacles[DISC_CLEARANCE + end] = px, py, clear
    obstacles[DISC_RATE + end] = horizon / clear
    obstacles[DISC_APEX_X + end], obstacles[DISC_APEX_Y + end], obstacles[DISC_SCALE + end] = _F0, _F0, _F1
    return end + _U1


@inlined_kernel
def urgency_and_side(obstacles, neighbour_count, discs, slabs, x, y):
    """Return how urgent sixteen velocities are, and how far they go off the side to keep to.

    Parameters
    ----------
    obstacles : (OBSTACLE_FLOATS,) float32
    neighbour_count, discs, slabs : uint64
        Discs of neighbours, all discs, slabs.
    x, y : lanes of float32, m/s
        The velocities.

    Returns
    -------
    urgency : lanes of float32, >= 1
        Time horizon over the time to the first collision; 1 where there is none within the horizon.
    side : lanes of float32, >= 0
        Sum over neighbours of 0..1: 1 where the velocity closes in at the maximum speed and passes the
        neighbour on the wrong side. To be divided by the number of neighbours.

    Notes
    -----
    The first root of ``|p - w t|^2 = r^2`` is ``c / (p.w + sqrt((p.w)^2 - c w^2))`` with ``c = p^2 - r^2``,
    so that the urgency needs no division. Twin: `tests/reference/sampled.py`.
    """
    zero = spread(_F0)
    urgency, aside = spread(_F1), zero
    for disc in range(_U0, neighbour_count):
        scale = spread(obstacles[DISC_SCALE + disc])
        wx, wy = (
            (x - spread(obstacles[DISC_APEX_X + disc])) * scale,
            (y - spread(obstacles[DISC_APEX_Y + disc])) * scale,
        )
        ahead_x, ahead_y = spread(obstacles[DISC_AHEAD_X + disc]), spread(obstacles[DISC_AHEAD_Y + disc])
        closing = (wx * ahead_x + wy * ahead_y) * spread(_HALF) + spread(_HALF)
        turn = obstacles[DISC_TURN + disc]
        passing = (ahead_x * wy - ahead_y * wx) * spread(turn + turn)
        wrong = choose(closing < passing, closing, passing)
        wrong = choose(wrong > zero, wrong, zero)
        aside = aside + choose(wrong < spread(_F1), wrong, spread(_F1))
        found = _disc_urgency(*_one_disc(obstacles, disc), wx, wy)
        urgency = choose(found > urgency, found, urgency)
    for disc in range(neighbour_count, discs):
        found = _disc_urgency(*_one_disc(obstacles, disc), x, y)
        urgency = choose(found > urgency, found, urgency)
    for slab in range(_U0, slabs):
        nx, ny, left, right = (
            obstacles[SLAB_X + slab],
            obstacles[SLAB_Y + slab],
            obstacles[SLAB_LEFT + slab],
            obstacles[SLAB_RIGHT + slab],
        )
        gap, rate = obstacles[SLAB_GAP + slab], obstacles[SLAB_RATE + slab]
        found = _slab_urgency(
            spread(nx), spread(ny), spread(gap), spread(rate), spread(left), spread(right), x, y
        )
        urgency = choose(found > urgency, found, urgency)
    return urgency, aside


@inlined_kernel
def _one_disc(obstacles, disc):
    """Return the position, clearance and rate of one disc in all lanes."""
    px, py = spread(obstacles[DISC_X + disc]), spread(obstacles[DISC_Y + disc])
    return px, py, spread(obstacles[DISC_CLEARANCE + disc]), spread(obstacles[DISC_RATE + disc])


@inlined_kernel
def _disc_urgency(px, py, clearance, rate, wx, wy):
    """Return the urgency of relative velocities towards discs; 0 or less where they pass or part."""
    towards = px * wx + py * wy
    inside = towards * towards - clearance * (wx * wx + wy * wy)
    return choose(inside > spread(_F0), (towards + root(inside)) * rate, spread(_F0))


@inlined_kernel
def _slab_urgency(nx, ny, gap, rate, left, right, x, y):
    """Return the urgency of velocities towards sides of walls;
    0 or less where they part or meet the wall's line beyond its ends.
    """
    approach, along = spread(_F0) - (nx * x + ny * y), (nx * y - ny * x) * gap
    meets = (along >= left * approach) & (along <= right * approach)
    return choose(meets, approach * rate, spread(_F0))


@lean_kernel
def first_collision(obstacles, discs, slabs, x, y):
    """Return the obstacle that a velocity would run into first.

    Parameters
    ----------
    obstacles : (OBSTACLE_FLOATS,) float32
    discs, slabs : uint64
        All discs, slabs.
    x, y : float32, m/s
        The velocity.

    Returns
    -------
    urgency : float32
        0 where nothing is run into at all.
    which : int64
        Number of the disc, or `discs` plus that of the slab; of two at the same time the first. -1 where
        there is none.

    Notes
    -----
    Twin: `tests/reference/sampled.py`.
    """
    most, which = _F0, np.int64(-1)
    for first in range(_U0, discs, _U16):
        scale = load(obstacles, DISC_SCALE + first)
        wx, wy = (
            (spread(x) - load(obstacles, DISC_APEX_X + first)) * scale,
            (spread(y) - load(obstacles, DISC_APEX_Y + first)) * scale,
        )
        px, py = load(obstacles, DISC_X + first), load(obstacles, DISC_Y + first)
        found = _disc_urgency(
            px, py, load(obstacles, DISC_CLEARANCE + first), load(obstacles, DISC_RATE + first), wx, wy
        )
        most, which = _greater(found, first, discs, _U0, most, which)
    for first in range(_U0, slabs, _U16):
        nx, ny = load(obstacles, SLAB_X + first), load(obstacles, SLAB_Y + first)
        gap, rate = load(obstacles, SLAB_GAP + first), load(obstacles, SLAB_RATE + first)
        left, right = load(obstacles, SLAB_LEFT + first), load(obstacles, SLAB_RIGHT + first)
        found = _slab_urgency(nx, ny, gap, rate, left, right, spread(x), spread(y))
        most, which = _greater(found, first, slabs, discs, most, which)
    return most, which


@inlined_kernel
def _greater(found, first, count, base, most, which):
    """Return the greatest of `most` and the lanes from `first` on that are below `count`, and which it is."""
    found = choose(numbers() + spread(np.int32(first)) < spread(np.int32(count)), found, spread(_F0))
    highest = greatest(found)
    if highest > most:
        return highest, np.int64(base + first + first_bit(bits(found == spread(highest))))
    return most, which
