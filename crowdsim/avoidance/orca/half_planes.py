"""The half-plane of velocities that keeps an agent clear of another one for a while (ORCA)."""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np

from crowdsim.avoidance.neighbour_model import STATE_FLOATS
from crowdsim.avoidance.neighbours import CHOSEN, MOST_NEIGHBOURS, NEAR_X, NEAR_Y
from crowdsim.avoidance.orca.linear_programs import NORMAL_X, NORMAL_Y, OFFSET
from crowdsim.kernels.decorator import inlined_kernel
from crowdsim.kernels.simd import LANES, bits, choose, load, load_records, root, spread, store

SIDE_FLOATS = MOST_NEIGHBOURS + LANES  # Room for the sides of all neighbours, by whole sets of lanes.

_F0, _F1 = np.float32(0.0), np.float32(1.0)
_U0, _U16 = np.uint64(0), np.uint64(16)


@inlined_kernel
def agent_half_planes(
    floats, slots, states, sides, count, vx, vy, radius, per_horizon, per_tick, lines, first_line
):
    """Write the half-planes that neighbours impose on an agent.

    Parameters
    ----------
    floats, slots : as `find_nearest` leaves them
        Relative positions (m) and slots of the neighbours. Slots behind them are read, and name some agent.
    states : (4 n,) float32
        As `pack_agents` wrote it: velocity (m/s), radius (m), and the agent's share of the change.
    sides : (SIDE_FLOATS,) float32
        For those at the agent's very centre +1 or -1 (see Notes).
    count : uint64
    vx, vy : float32, m/s
        The agent's velocity.
    radius : float32, m
    per_horizon, per_tick : float32, 1/s
        Reciprocals of the time horizon and of the tick's length.
    lines : (LINE_FLOATS,) float32
        Receives half-planes `first_line` to ``first_line + count``; what lies up to 15 places behind is
        overwritten.
    first_line : uint64

    Notes
    -----
    [van den Berg 2011], section 4: u is the least change of the relative velocity that leaves the velocity
    obstacle, a cone cut off by a disc; of u the agent takes its share (1/2 between two that decide, 1 towards
    one that stands). Discs that overlap already are to part within one tick. Two exact ties, which RVO2 gives
    to the right leg or leaves undefined, are decided so that mirrored scenes stay mirrored: heading for the
    centre, the obstacle's foremost point counts; where centres and velocities coincide, the one with the
    lower entity id (+1) parts along +x, the other (-1) along -x. Without radii, an obstacle is a ray and both
    its legs are one. Twin: `tests/reference/orca.py`.
    """
    zero, one = spread(_F0), spread(_F1)
    for first in range(_U0, count, _U16):
        px, py = load(floats, NEAR_X + first), load(floats, NEAR_Y + first)
        their_vx, their_vy, their_radius, share = load_records(states, STATE_FLOATS, slots, CHOSEN + first)
        rvx, rvy = spread(vx) - their_vx, spread(vy) - their_vy
        reach = spread(radius) + their_radius
        reach_squared, distance_squared = reach * reach, px * px + py * py
        apart = distance_squared > reach_squared
        rate = choose(apart, spread(per_horizon), spread(per_tick))
        # from the centre of the cut-off disc to the relative velocity
        wx, wy = rvx - rate * px, rvy - rate * py
        w_squared, inwards = wx * wx + wy * wy, wx * px + wy * py
        before_disc = (inwards < zero) & (inwards * inwards > reach_squared * w_squared)
        on_disc = choose(apart, choose(before_disc, one, zero), one) > zero
        turn = px * wy - py * wx
        # left leg, right leg, heading for the centre
        side = choose(turn > zero, one, choose(turn < zero, spread(-_F1), zero))
        on_axis = side == zero
        length = root(
            choose(on_disc, w_squared, choose(on_axis, distance_squared, distance_squared - reach_squared))
        )
        scale = choose(on_disc | on_axis, length, distance_squared)
        nx = choose(on_disc, wx, choose(on_axis, zero - px, zero - px * reach - side * py * length)) / scale
        ny = choose(on_disc, wy, choose(on_axis, zero - py, side * px * length - py * reach)) / scale
        nothing = on_disc & (w_squared == zero)
        # the relative velocity has no direction from the disc's centre; neither have the centres where they
        # coincide
        if bits(nothing) != _U0:
            together, distance = distance_squared == zero, root(distance_squared)
            nx = choose(
                nothing,
                choose(together, load(sides, first), (zero - px) / distance),
                nx,
            )
            ny = choose(nothing, choose(together, zero, (zero - py) / distance), ny)
        to_leg = zero - (nx * rvx + ny * rvy)
        change = choose(
            on_disc, reach * rate - length, choose(on_axis, to_leg - (length - reach) * rate, to_leg)
        )
        store(lines, NORMAL_X + first_line + first, nx)
        store(lines, NORMAL_Y + first_line + first, ny)
        store(
            lines,
            OFFSET + first_line + first,
            nx * spread(vx) + ny * spread(vy) + share * change,
        )
