"""The speed that people like in a crowd: it falls with the density ahead of them (Weidmann's relation).
Off unless a scenario asks for it.

Velocity-obstacle models keep agents from running into each other, and nothing else: at any density, an agent
with free space ahead walks at full speed. People do not. Here the preferred speed is lowered before the model
acts; the model, and everything after it, stays what it is.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.cells import Cells, plane_numbers, share_ground, window
from crowdsim.geometry.walls import Walls
from crowdsim.kernels.decorator import inlined_kernel, kernel, lean_kernel
from crowdsim.kernels.threads import Team
from crowdsim.tunable import param

# Twenty-four places of equal weight in the unit disc under the weight 1 - r^2, in three rings of eight; they
# say how much of the disc is ground that an agent sees. Even in both axes, so that mirrored scenes and
# quarter turns give the same count.
_RINGS = (0.29517633, 0.54119610, 0.76925400)  # where the weight within r, 2 r^2 - r^4, is 1/6, 1/2, 5/6
_COSINE, _SINE = 0.9238795325112867, 0.3826834323650898  # of 22.5 degrees
PLACES = tuple(
    (ring * x * sign_x, ring * y * sign_y)
    for ring in _RINGS
    for x, y in ((_COSINE, _SINE), (_SINE, _COSINE))
    for sign_x in (1, -1)
    for sign_y in (1, -1)
)
# Places that count as seen at least: a corner that hides nearly everything does not make three agents a jam.
_LEAST_SEEN = 6
# their sum is ln 2 to 1e-26; the first has few digits, so that k times it is exact
_LN2_HIGH, _LN2_LOW = 0.693147180369123816490, 1.90821492927058770002e-10
_HALF_PI = 1.5707963267948966
# 2^32: weights are summed as whole numbers of its reciprocal, so that their order changes nothing
_FIXED = 4294967296.0


@lean_kernel
def decay(x):
    """Return e^-x for x >= 0 to 1e-15 relative, the same on every processor; 0 above 708.

    x is taken apart into k ln 2 + r with |r| <= ln(2) / 2; e^-r by its series, halved k times. Twin:
    `tests/reference/density_speed.py`.
    """
    if not x < 708.0:
        return 0.0
    halvings = np.floor(x * 1.4426950408889634 + 0.5)
    rest = (x - halvings * _LN2_HIGH) - halvings * _LN2_LOW
    value = 1.0
    for n in range(15, 0, -1):  # the next term is below 0.347**16 / 16! < 3e-21
        value = 1.0 - value * rest / n
    while halvings >= 32.0:
        value *= 2.3283064365386963e-10
        halvings -= 32.0
    while halvings >= 1.0:
        value *= 0.5
        halvings -= 1.0
    return value


@lean_kernel
def weidmann_share(density, steepness, jam_density, least):
    """Return the share of its free speed at which an agent walks in a crowd.

    Parameters
    ----------
    density : float, 1/m^2, >= 0
    steepness, jam_density : float, 1/m^2
        1.913 and 5.4 in [Weidmann 1993].
    least : float
        Share below which it never falls.

    Returns
    -------
    float, least..1

    Notes
    -----
    [Weidmann 1993]: v = v0 (1 - exp(-1.913 (1/rho - 1/5.4))). Twin: `tests/reference/density_speed.py`.
    """
    if density <= 0.0:
        return 1.0
    if density >= jam_density:
        return least
    return max(least, 1.0 - decay(steepness * (1.0 / density - 1.0 / jam_density)))


@inlined_kernel
def _is_hidden(start, end, zone_wall, first, last, x, y, px, py):
    """Tell whether a wall of the list stands between (x, y) and (px, py)."""
    for entry in range(first, last):
        wall = zone_wall[entry]
        ax, ay, bx, by = start[wall, 0], start[wall, 1], end[wall, 0], end[wall, 1]
        ux, uy = bx - ax, by - ay
        here, there = ux * (y - ay) - uy * (x - ax), ux * (py - ay) - uy * (px - ax)
        if here >= 0.0 and there < 0.0:  # from the free side to the other
            dx, dy = px - x, py - y
            left, right = dx * (ay - y) - dy * (ax - x), dx * (by - y) - dy * (bx - x)
            if (left >= 0.0) != (right >= 0.0):
                return True
    return False


@inlined_kernel
def _density_at(cells, wall_start, wall_end, zone_wall, first_wall, last_wall, slot, ux, uy, radius, ahead):
    """Return the density in the disc whose centre lies `ahead` of an agent in the direction (ux, uy);
    see `slow_down`.
    """
    cells_x, cells_y, cells_start = cells.x, cells.y, cells.start
    z, slope_x, slope_y, step = cells.z, cells.slope_x, cells.slope_y, cells.step
    has_heights = z.size > 0
    square = radius * radius
    x, y = cells_x[slot], cells_y[slot]
    centre_x, centre_y = x + ahead * ux, y + ahead * uy
    total = np.int64(0)
    plane = plane_numbers(cells.origin, cells.shape, cells.plane[slot])
    first_line, lines, first_column, columns, wrapped, row_mask, table_columns, first_cell = window(
        plane, cells.per_metre, centre_x, centre_y, radius
    )
    while columns > 0:
        for line in range(first_line, first_line + lines):
            cell = first_cell + (line & row_mask) * table_columns + first_column
            for other in range(np.int64(cells_start[cell]), np.int64(cells_start[cell + columns])):
                dx, dy = cells_x[other] - centre_x, cells_y[other] - centre_y
                away = dx * dx + dy * dy
                if other == slot or away >= square:
                    continue
                if has_heights and not share_ground(
                    z, slope_x, slope_y, step, slot, other, cells_x[other] - x, cells_y[other] - y
                ):
                    continue
                if not _is_hidden(
                    wall_start,
                    wall_end,
                    zone_wall,
                    first_wall,
                    last_wall,
                    x,
                    y,
                    cells_x[other],
                    cells_y[other],
                ):
                    total = total + np.int64((1.0 - away / square) * _FIXED)
        first_column, columns, wrapped = 0, wrapped, 0
    density = 0.0
    if total > 0:
        weight = total / _FIXED
        seen = len(PLACES)
        if first_wall < last_wall:
            for place_x, place_y in PLACES:
                px, py = (
                    centre_x + radius * (place_x * ux - place_y * uy),
                    centre_y + radius * (place_x * uy + place_y * ux),
                )
                seen -= _is_hidden(wall_start, wall_end, zone_wall, first_wall, last_wall, x, y, px, py)
        own = max(0.0, 1.0 - ahead * ahead / square)
        density = (
            (weight + own * min(1.0, weight)) * len(PLACES) / (_HALF_PI * square * max(seen, _LEAST_SEEN))
        )
    return density


@kernel
def slow_down(start, stop, cells, walls, zone, wanted, walking, parameters, out, density):
    """Lower the preferred speeds of agents by the density ahead of them.

    Parameters
    ----------
    start, stop : int
        Range of slots.
    cells : Cells
    walls : tuple
        `start`, `end`, `zone_start` and `zone_wall` of `Walls`.
    zone : (n,) int64
        Row of the wall lists.
    wanted : (n, 2) float64, m/s
        Preferred velocities.
    walking : (n,) uint8
        0: the velocity stays as it is.
    parameters : (9,) float64
        Radius of the disc in which density is measured (m), how far ahead its centre lies (m), steepness, jam
        density (1/m^2), least share; radius and centre of the disc of the press (m), the density from which
        it counts (1/m^2), and the share of what is more than that.
    out : (n, 2) float64, m/s
        Receives the preferred velocities; must not alias `wanted`.
    density : (n,) float64, 1/m^2
        Receives what was measured; 0 for agents that do not walk.

    Notes
    -----
    Density is the sum of 1 - r^2 / R^2 over all agents in a disc, over the integral of that weight on the
    ground in the disc, as far as the agent sees both from where it is: walls neither thin a crowd out nor let
    the next room count. The agent itself counts as far as there are others, so that none is slowed down by
    being there. Two discs are looked at: one ahead, and, for the press right before an agent, a small one, of
    which a share counts of what is more than both a bound and the density ahead. Twin:
    `tests/reference/density_speed.py`.
    """
    wall_start, wall_end, zone_start, zone_wall = walls
    radius, ahead, steepness, jam_density, least, press_radius, press_ahead, press_from, press_share = (
        parameters
    )
    for slot in range(start, stop):
        row = np.int64(cells.row[slot])
        wx, wy = wanted[row, 0], wanted[row, 1]
        out[row, 0], out[row, 1], density[row] = wx, wy, 0.0
        speed = np.sqrt(wx * wx + wy * wy)
        if walking[row] == 0 or not speed > 0.0:
            continue
        ux, uy = wx / speed, wy / speed
        first_wall, last_wall = zone_start[zone[row]], zone_start[zone[row] + 1]
        measured = 0.0
        press = 0.0
        for disc in range(2 if press_share > 0.0 else 1):  # one loop, so that the search is compiled once
            reach, centre = (radius, ahead) if disc == 0 else (press_radius, press_ahead)
            found = _density_at(
                cells, wall_start, wall_end, zone_wall, first_wall, last_wall, slot, ux, uy, reach, centre
            )
            if disc == 0:
                measured = found
            else:
                press = found
        measured += press_share * max(0.0, press - max(measured, press_from))
        if measured > 0.0:
            share = weidmann_share(measured, steepness, jam_density, least)
            out[row, 0], out[row, 1], density[row] = wx * share, wy * share, measured


@dataclass(frozen=True)
class NoLaw:
    """Speeds do not depend on density: nothing can be set."""


@dataclass(frozen=True)
class Weidmann:
    """Weidmann's relation of speed and density."""

    steepness: float = param(
        1.913, "1/m2", above=0.0, high=100.0, source="[Weidmann 1993]",
        why="how soon speed falls as density rises; larger keeps agents fast until just before the jam",
    )  # fmt: skip
    jam_density: float = param(
        5.4, "1/m2", above=0.0, high=20.0, source="[Weidmann 1993]",
        why="density at which no agent walks by itself any more; smaller jams sooner",
    )  # fmt: skip
    radius: float = param(
        1.2,
        "m",
        above=0.0,
        high=10.0,
        source="ours",
        why=(
            "radius of the disc in which density is measured; larger blurs doors, smaller follows single "
            "neighbours"
        ),
    )
    ahead: float = param(
        2.4,
        "m",
        low=0.0,
        high=10.0,
        source="ours",
        why="how far ahead that disc lies. With 2.4 m doors let as many through as people do; smaller "
        "counts neighbours beside that wait too and chokes doors "
        "(0.4 to 1 persons a second and metre at 0.6 m), larger looks past the nearest",
    )
    press_radius: float = param(
        0.8, "m", above=0.0, high=10.0, source="ours",
        why="radius of the small disc in which the press right before an agent is measured",
    )  # fmt: skip
    press_ahead: float = param(
        0.4, "m", low=0.0, high=10.0, source="ours",
        why="how far ahead the small disc lies",
    )  # fmt: skip
    press_from: float = param(
        3.0,
        "1/m2",
        low=0.0,
        high=20.0,
        source="ours",
        why=(
            "density there from which on the press slows agents down; smaller slows crowds that are not "
            "pressed, too"
        ),
    )
    press_share: float = param(
        0.3,
        "",
        low=0.0,
        high=1.0,
        source="ours",
        why="share that counts of what is more; 0 leaves the press out, and lets more through wide doors "
        "(2.2 in place of 2.0 persons a second and metre at 1.2 m, with the other disc 2.1 m ahead), larger "
        "lets arches before narrow ones stand longer",
    )
    least: float = param(
        0.1,
        "",
        low=0.0,
        high=1.0,
        source="ours",
        why=(
            "share of the free speed that is left in any crowd; 0 lets jams stand for good, larger presses "
            "on in them"
        ),
    )


class SpeedLaw:
    """Lowers preferred speeds by Weidmann's relation.

    Parameters
    ----------
    parameters : Weidmann
    """

    def __init__(self, parameters: Weidmann) -> None:
        self.parameters = parameters

    @property
    def reach(self) -> float:
        """How far from an agent walls matter, m."""
        own = self.parameters
        return max(own.radius + own.ahead, own.press_radius + own.press_ahead)

    def apply(
        self,
        cells: Cells,
        walls: Walls,
        zone: NDArray[np.int64],
        wanted: NDArray[np.float64],
        walking: NDArray[np.uint8],
        team: Team,
        out: NDArray[np.float64],
        density: NDArray[np.float64],
    ) -> None:
        """Write lowered preferred velocities and the densities that lowered them; see `slow_down`."""
        own = self.parameters
        press = (own.press_radius, own.press_ahead, own.press_from, own.press_share)
        parameters = np.array([own.radius, own.ahead, own.steepness, own.jam_density, own.least, *press])
        lists = (walls.start, walls.end, walls.zone_start, walls.zone_wall)
        team.run(slow_down, len(wanted), cells, lists, zone, wanted, walking, parameters, out, density)
