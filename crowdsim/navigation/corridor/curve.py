"""Paths as curves: one cubic Bezier piece in each polygon of a corridor, joined in the portals with common
tangents.

[Smith 2002] builds a Bezier curve from the points of a path and clips its control points to the sectors and
portals that the path passes: a curve lies inside the hull of its control points, so it lies inside the
sectors if they do. Here sectors are the polygons of the mesh, which are convex: a piece whose four control
points are in one polygon is inside it.

First each portal is narrowed to its *gate*: where the centre of an agent can be, a little farther from walls
than its radius if there is room. The string of a point through the gates (the funnel of [Mononen 2010])
crosses every portal once; the curve crosses it there. Its direction there is that of the string, and where
that bends, one between both that is as near to a right angle to the portal as it can be; two pieces that meet
have one tangent. The inner control points lie along the tangents, at a third of the piece's chord, clipped to
the polygon and, where its sides are walls, to a radius from them. A piece that would still come nearer to a
wall than the radius gets longer tangents, which lead wider round a corner, or shorter ones.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.hypot import hypot
from crowdsim.geometry.lengths import dots, hypots
from crowdsim.geometry.plane import distance_to_segment, orientation, segments_apart
from crowdsim.kernels.decorator import inlined_kernel, kernel, lean_kernel
from crowdsim.navigation.corridor.corridors import Corridor, corridor_of
from crowdsim.navigation.corridor.portal_vertices import KERB_M
from crowdsim.navigation.corridor.trace import Tracing, make_tracing, trace_path
from crowdsim.navigation.goals.goals import GoalPieces, target_in_piece
from crowdsim.navigation.mesh.mesh import KERB, Flood, NavMesh, flood_into, make_flood, was_reached
from crowdsim.tunable import param

# How much farther than its radius an agent crosses portals from walls, where there is room. Less bends curves
# sharper where rooms are narrow, 0.1 m by a third; more makes paths longer, 0.2 m by 1 %.
BERTH_M = 0.15
# Of the free part of a portal that is given up for that on each side; the rest is for agents side by side.
BERTH_SHARE = 0.25
# Nearer to a portal than this an agent crosses it where it is heading, if it fits through there: others may
# have pushed it aside.
NEAR_M = 0.5
# How far the curve may come nearer to a wall than the radius: rounding, and agents that touch walls.
TOUCH_M = 1e-3
# Control points stay so far inside of polygons, as a share of what there is: rounding.
INSIDE = 0.999
# How many thirds of the chord the inner control points are away from the ends; tried in this order until the
# piece is off the walls: longer leads wider round a corner between two portals, shorter less far into others.
SCALES = (1.0, 1.25, 1.6, 0.5, 0.25, 0.125, 0.0625)
# Least component of a tangent across its portal: the curve goes through it, not along it.
LEAST_ACROSS = 1e-3
# Halvings of a piece until what is left of it is straight but for a tenth of a millimetre.
MOST_HALVINGS = 8
# Portals ahead that a steered agent looks at: the piece in which it is depends on two; others only say
# where the string bends, and the farther, the less.
LOOKAHEAD = 12
# Of the corridors of strings, along which curves are led where corridors are too near to walls.
MOST_VERTICES = 4096
# Ticks ahead on the curve at which an agent steers: so the turn in one tick is that of the curve.
LOOK_TICKS = 2.0
# Least distance at which it steers: shorter would be rounding.
LEAST_LOOK_M = 0.05
STEPS = 16  # Chords by which a piece is measured.
SHORT_M = 1e-9  # Shorter pieces have no direction.


@dataclass(frozen=True)
class CurveParameters:
    """How agents follow the paths that were found for them."""

    smoothing: str = param(
        "straight",
        "",
        choices=("straight", "bezier"),
        source="[Smith 2002]",
        why="straight walks from corner to corner, the shortest; bezier walks along cubic curves inside the "
        "same polygons, which bend less and are a little longer",
        is_later=True,
    )


class CurveWork(NamedTuple):
    """Scratch of laying curves, made by `make_curve_work`.

    Attributes
    ----------
    gate : (m, 4) float64, m
        Right end (x, y) and left end (x, y) of each gate.
    place : (m + 2, 2) float64, m
        Where the path begins, crosses each portal, and ends.
    tangent : (m + 2, 2) float64
        Unit directions there.
    control : (4, 2) float64, m
        Of one piece.
    blocked : (k, 2) float64, m
        Stretches of one portal that walls are too near to.
    halves : (k, 9) float64
        Parts of one piece that are still to be looked at: control points and how often it was halved.
    portals : (m,) int32
        Of a corridor along the string.
    tracing : Tracing
    flood : Flood
    """

    gate: NDArray[np.float64]
    place: NDArray[np.float64]
    tangent: NDArray[np.float64]
    control: NDArray[np.float64]
    blocked: NDArray[np.float64]
    halves: NDArray[np.float64]
    portals: NDArray[np.int32]
    tracing: Tracing
    flood: Flood


@kernel
def make_curve_work(portals, polygons):
    """Return scratch for curves over so many portals, on a mesh of so many polygons."""
    return CurveWork(
        np.empty((portals + 1, 4)),
        np.empty((portals + 3, 2)),
        np.empty((portals + 3, 2)),
        np.empty((4, 2)),
        np.empty((64, 2)),
        np.empty((MOST_HALVINGS + 2, 9)),
        np.empty(portals + 1, dtype=np.int32),
        make_tracing(MOST_VERTICES, polygons),
        make_flood(polygons),
    )


@inlined_kernel
def _blocked_by_disc(s, q, r, low, high):
    """Return the hull of low..high and of where a line is nearer than r to a point, which is s along the line
    and q aside.
    """
    if abs(q) < r:
        half = np.sqrt(r * r - q * q)
        low, high = min(low, s - half), max(high, s + half)
    return low, high


@lean_kernel
def _blocked_by_wall(ax, ay, ux, uy, px, py, qx, qy, r):
    """Return between where and where (m) a line is nearer than r to the wall pq; inf, -inf if nowhere.

    The line goes through a in direction u.
    """
    s0, q0 = (px - ax) * ux + (py - ay) * uy, ux * (py - ay) - uy * (px - ax)
    s1, q1 = (qx - ax) * ux + (qy - ay) * uy, ux * (qy - ay) - uy * (qx - ax)
    low, high = _blocked_by_disc(s0, q0, r, np.inf, -np.inf)
    low, high = _blocked_by_disc(s1, q1, r, low, high)
    if q0 * q1 < 0.0:
        cross = s0 + (s1 - s0) * q0 / (q0 - q1)
        low, high = min(low, cross), max(high, cross)
    ds, dq = s1 - s0, q1 - q0
    length = hypot(ds, dq)
    if length <= 0.0 or dq == 0.0:
        return low, high
    # the two lines beside the wall, where their feet are on it
    for sign in (-1.0, 1.0):
        s = s0 + (sign * r * length - q0 * ds) / dq
        along = (s - s0) * ds - q0 * dq
        if 0.0 <= along <= length * length:
            low, high = min(low, s), max(high, s)
    return low, high


@lean_kernel
def lay_gate(mesh, edge, radius, row, x, y, vx, vy, work):
    """Narrow a portal to where the centre of an agent may cross it.

    Parameters
    ----------
    mesh : NavMesh
    edge : int
        Half-edge, as the path leaves over it.
    radius : float, m
    row : int
        Of ``work.gate``, which receives the right and the left end.
    x, y : float, m
    vx, vy : float, m/s
        Where an agent is, and its velocity.
    work : CurveWork

    Returns
    -------
    bool
        Whether there is room.

    Notes
    -----
    Walls are the sides and corners of the two polygons. Of several free parts the widest counts, of those as
    wide the one on the right; with none the middle.
    """
    a, b = mesh.edge_vertex[edge], mesh.edge_end[edge]
    ax, ay = mesh.vertex[a, 0], mesh.vertex[a, 1]
    ux, uy = mesh.vertex[b, 0] - ax, mesh.vertex[b, 1] - ay
    width = hypot(ux, uy)
    ux, uy = ux / width, uy / width
    blocked, count = work.blocked, 0
    for side in range(2):
        polygon = mesh.edge_polygon[edge if side == 0 else mesh.edge_twin[edge]]
        for other in range(mesh.polygon_start[polygon], mesh.polygon_start[polygon + 1]):
            p, q = mesh.edge_vertex[other], mesh.edge_end[other]
            px, py, qx, qy = mesh.vertex[p, 0], mesh.vertex[p, 1], mesh.vertex[q, 0], mesh.vertex[q, 1]
            low, high = np.inf, -np.inf
            if mesh.edge_twin[other] < 0 and mesh.edge_wall[other] >= 0:
                low, high = _blocked_by_wall(ax, ay, ux, uy, px, py, qx, qy, radius)
            elif mesh.is_wall_vertex[p] != 0:
                off = min(radius, KERB_M) if mesh.is_wall_vertex[p] == KERB else radius
                s, aside = (px - ax) * ux + (py - ay) * uy, ux * (py - ay) - uy * (px - ax)
                low, high = _blocked_by_disc(s, aside, off, low, high)
            if high > 0.0 and low < width and count < blocked.shape[0]:
                blocked[count, 0], blocked[count, 1] = low, high
                count += 1
    best_low, best_high = 0.5 * width, 0.5 * width
    for begin in range(count + 1):
        low = 0.0 if begin == count else max(0.0, blocked[begin, 1])
        high = width
        for k in range(count):
            if blocked[k, 0] <= low < blocked[k, 1]:
                high = low
            elif blocked[k, 0] >= low:
                high = min(high, blocked[k, 0])
        if high - low > best_high - best_low or (
            high - low == best_high - best_low and high > low and low < best_low
        ):
            best_low, best_high = low, high
    off = min(BERTH_M, BERTH_SHARE * (best_high - best_low))
    low, high = best_low + off, best_high - off
    away = ux * (y - ay) - uy * (x - ax)
    if row == 0 and abs(away) < NEAR_M:
        # nearing the line of the portal by so much
        along, nearing = (x - ax) * ux + (y - ay) * uy, uy * vx - ux * vy
        if nearing > 0.0 and away > 0.0:
            along += away / nearing * (vx * ux + vy * uy)
        along = min(best_high, max(best_low, along))
        low, high = min(low, along), max(high, along)
    work.gate[row, 0], work.gate[row, 1] = ax + low * ux, ay + low * uy
    work.gate[row, 2], work.gate[row, 3] = ax + high * ux, ay + high * uy
    return best_high > best_low


@inlined_kernel
def _crossing(gate, row, ax, ay, bx, by):
    """Return where the line from a to b crosses a gate, at its nearer end if it does not."""
    rx, ry, lx, ly = gate[row, 0], gate[row, 1], gate[row, 2], gate[row, 3]
    right, left = orientation(ax, ay, bx, by, rx, ry), orientation(ax, ay, bx, by, lx, ly)
    share = 0.5
    if left - right > 0.0:
        share = min(1.0, max(0.0, -right / (left - right)))
    return rx + share * (lx - rx), ry + share * (ly - ry)


@lean_kernel
def cross_gates(mesh, goals, piece, count, x, y, radius, work):
    """Pull the string of a point taut through gates; write where it crosses them.

    Parameters
    ----------
    mesh : NavMesh
    goals : GoalPieces
    piece : int
        Of the goal behind the last gate; -1 if that is not known: the string then ends in the middle of the
        last gate.
    count : int
        Gates, at least 1 without a goal.
    x, y : float, m
        Where the path begins.
    radius : float, m
    work : CurveWork
        ``place`` is written: the begin, the crossings, the end.

    Returns
    -------
    int
        Number of pieces; ``place[pieces]`` is the end.
    """
    gate, place = work.gate, work.place
    inner = count if piece >= 0 else count - 1
    place[0, 0], place[0, 1] = x, y
    ax, ay, begin = x, y, 0
    while True:
        left = right = bend = -1
        lx = ly = rx = ry = bx = by = 0.0
        for k in range(begin, inner + 1):
            if k < inner:
                px, py, qx, qy = gate[k, 0], gate[k, 1], gate[k, 2], gate[k, 3]
            else:
                if piece >= 0:
                    bx, by = target_in_piece(mesh, goals, piece, ax, ay, radius, work.flood)
                else:
                    bx, by = 0.5 * (gate[k, 0] + gate[k, 2]), 0.5 * (gate[k, 1] + gate[k, 3])
                px, py, qx, qy = bx, by, bx, by
            if left >= 0 and orientation(ax, ay, lx, ly, px, py) > 0.0:
                bend, bx, by = left, lx, ly
                break
            if left >= 0 and orientation(ax, ay, rx, ry, qx, qy) < 0.0:
                bend, bx, by = right, rx, ry
                break
            if right < 0 or orientation(ax, ay, rx, ry, px, py) >= 0.0:
                right, rx, ry = k, px, py
            if left < 0 or orientation(ax, ay, lx, ly, qx, qy) <= 0.0:
                left, lx, ly = k, qx, qy
        stop = bend if bend >= 0 else inner
        for k in range(begin, stop):
            place[k + 1, 0], place[k + 1, 1] = _crossing(gate, k, ax, ay, bx, by)
        place[stop + 1, 0], place[stop + 1, 1] = bx, by
        if bend < 0:
            return inner + 1
        ax, ay, begin = bx, by, bend + 1


@lean_kernel
def direct_crossing(mesh, edge, k, pieces, radius, work):
    """Write the tangent of the curve at place k, on a portal (`edge`) or, with -1, at the end of the path.

    It is the direction of the string; where that bends, the one in between that is nearest to a right angle
    to the portal: so a circle round the corner would cross it. It does not depend on how far the path has
    come along the string before, so an agent finds it where it was.

    Parameters
    ----------
    mesh : NavMesh
    edge : int
        Half-edge, as the path leaves over it.
    k, pieces : int
    radius : float, m
    work : CurveWork
        ``tangent[k]`` receives a unit vector. It is turned towards a right angle to the portal until its line
        keeps the radius from corners of walls at the portal's ends.
    """
    place, tangent = work.place, work.tangent
    ux, uy = place[k, 0] - place[k - 1, 0], place[k, 1] - place[k - 1, 1]
    before = hypot(ux, uy)
    vx, vy, behind = 0.0, 0.0, 0.0
    if k < pieces:
        vx, vy = place[k + 1, 0] - place[k, 0], place[k + 1, 1] - place[k, 1]
        behind = hypot(vx, vy)
    if before > SHORT_M:
        ux, uy = ux / before, uy / before
    if behind > SHORT_M:
        vx, vy = vx / behind, vy / behind
    if before <= SHORT_M:
        ux, uy = vx, vy
    if behind <= SHORT_M:
        vx, vy = ux, uy
    tx, ty = vx, vy
    if edge >= 0:
        a, b = mesh.edge_vertex[edge], mesh.edge_end[edge]
        wx, wy = mesh.vertex[b, 0] - mesh.vertex[a, 0], mesh.vertex[b, 1] - mesh.vertex[a, 1]
        width = hypot(wx, wy)
        wx, wy = wx / width, wy / width
        side = 1.0 if ux * vy - uy * vx > 0.0 else -1.0
        if side * (wy * vy + wx * vx) > 0.0:
            # the string comes past the right angle only behind the portal, or has come past it before
            tx, ty = (ux, uy) if side * (ux * -wx - uy * wy) < 0.0 else (wy, -wx)
        least = LEAST_ACROSS
        for end in (a, b):
            if mesh.is_wall_vertex[end] == 1:
                away = hypot(place[k, 0] - mesh.vertex[end, 0], place[k, 1] - mesh.vertex[end, 1])
                least = max(least, radius / away) if away > radius else 1.0
        if tx * wy - ty * wx < least:
            along = np.sqrt(1.0 - least * least)
            if tx * wx + ty * wy < 0.0:
                along = -along
            tx, ty = least * wy + along * wx, along * wy - least * wx
    tangent[k, 0], tangent[k, 1] = tx, ty


@lean_kernel
def _reach(mesh, polygon, x, y, ux, uy, want, radius):
    """Return how far, at most `want`, one can go from a point of a polygon in a direction:
    not out of it, and where its sides are walls, not nearer to them than the radius.
    """
    walls = inside = want
    for edge in range(mesh.polygon_start[polygon], mesh.polygon_start[polygon + 1]):
        a, b = mesh.edge_vertex[edge], mesh.edge_end[edge]
        ax, ay, bx, by = mesh.vertex[a, 0], mesh.vertex[a, 1], mesh.vertex[b, 0], mesh.vertex[b, 1]
        length = hypot(bx - ax, by - ay)
        depth = orientation(ax, ay, bx, by, x, y) / length
        nearing = -((bx - ax) * uy - (by - ay) * ux) / length
        if nearing <= 0.0:
            continue
        inside = min(inside, INSIDE * max(0.0, depth) / nearing)
        if mesh.edge_twin[edge] < 0 and mesh.edge_wall[edge] >= 0:
            walls = min(walls, max(0.0, depth - radius) / nearing)
    # A place may be nearer to the line of a wall than to the wall: not without any tangent, then.
    return min(inside, max(walls, SCALES[-1] * want))


@lean_kernel
def is_off_walls(mesh, polygon, radius, work):
    """Return whether a piece in a polygon keeps a radius from all walls, less `TOUCH_M`.

    Parameters
    ----------
    mesh : NavMesh
    polygon : int
    radius : float, m
    work : CurveWork
        ``control`` is the piece.

    Notes
    -----
    Walls are looked for over portals that are nearer to the piece than the radius. A cubic is nowhere farther
    from its chord than three quarters of what its inner control points are; halves are looked at where that
    does not decide.
    """
    if radius <= TOUCH_M:
        return True
    flood, control = work.flood, work.control
    reached, done = flood_into(polygon, 0, flood), 0
    px, py, qx, qy = control[0, 0], control[0, 1], control[3, 0], control[3, 1]
    bulge = 0.75 * max(
        distance_to_segment(control[1, 0], control[1, 1], px, py, qx, qy),
        distance_to_segment(control[2, 0], control[2, 1], px, py, qx, qy),
    )
    while done < reached:
        current = flood.queue[done]
        done += 1
        for edge in range(mesh.polygon_start[current], mesh.polygon_start[current + 1]):
            twin = mesh.edge_twin[edge]
            if twin < 0 and mesh.edge_wall[edge] < 0:
                continue
            if twin >= 0 and was_reached(mesh.edge_polygon[twin], reached, flood):
                continue
            a, b = mesh.edge_vertex[edge], mesh.edge_end[edge]
            ax, ay, bx, by = mesh.vertex[a, 0], mesh.vertex[a, 1], mesh.vertex[b, 0], mesh.vertex[b, 1]
            if segments_apart(px, py, qx, qy, ax, ay, bx, by) - bulge >= radius:
                continue
            if twin < 0:
                if not _keeps_off(ax, ay, bx, by, radius - TOUCH_M, work):
                    return False
            else:
                reached = flood_into(mesh.edge_polygon[twin], reached, flood)
    return True


@lean_kernel
def _keeps_off(ax, ay, bx, by, off, work):
    """Return whether the piece ``work.control`` is nowhere nearer to the wall ab than `off` (m)."""
    halves, control = work.halves, work.control
    for k in range(4):
        halves[0, 2 * k], halves[0, 2 * k + 1] = control[k, 0], control[k, 1]
    halves[0, 8] = 0.0
    count = 1
    while count > 0:
        count -= 1
        px, py, p1x, p1y = halves[count, 0], halves[count, 1], halves[count, 2], halves[count, 3]
        p2x, p2y, qx, qy = halves[count, 4], halves[count, 5], halves[count, 6], halves[count, 7]
        depth = halves[count, 8]
        bulge = 0.75 * max(
            distance_to_segment(p1x, p1y, px, py, qx, qy), distance_to_segment(p2x, p2y, px, py, qx, qy)
        )
        if segments_apart(px, py, qx, qy, ax, ay, bx, by) - bulge >= off:
            continue
        if (
            depth >= MOST_HALVINGS
            or distance_to_segment(px, py, ax, ay, bx, by) < off
            or distance_to_segment(qx, qy, ax, ay, bx, by) < off
        ):
            return False
        # de Casteljau in the middle
        sx, sy, mx, my, ex, ey = (
            0.5 * (px + p1x), 0.5 * (py + p1y), 0.5 * (p1x + p2x), 0.5 * (p1y + p2y),
            0.5 * (p2x + qx), 0.5 * (p2y + qy),
        )  # fmt: skip
        lx, ly, hx, hy = 0.5 * (sx + mx), 0.5 * (sy + my), 0.5 * (mx + ex), 0.5 * (my + ey)
        cx, cy = 0.5 * (lx + hx), 0.5 * (ly + hy)
        _write_half(halves, count, px, py, sx, sy, lx, ly, cx, cy, depth + 1.0)
        _write_half(halves, count + 1, cx, cy, hx, hy, ex, ey, qx, qy, depth + 1.0)
        count += 2
    return True


@inlined_kernel
def _write_half(halves, row, px, py, p1x, p1y, p2x, p2y, qx, qy, depth):
    halves[row, 0], halves[row, 1], halves[row, 2], halves[row, 3] = px, py, p1x, p1y
    halves[row, 4], halves[row, 5], halves[row, 6], halves[row, 7] = p2x, p2y, qx, qy
    halves[row, 8] = depth


@lean_kernel
def lay_piece(mesh, polygon, k, share, radius, work):
    """Lay the Bezier piece from place k to place k + 1 of a path.

    Parameters
    ----------
    mesh : NavMesh
    polygon : int
        In which both are.
    k : int
    share : float, 0..1
        Of the first tangent's length; less where it matters less.
    radius : float, m
    work : CurveWork
        `place` and `tangent` are read, `control` is written.

    Returns
    -------
    bool
        Whether the piece keeps the radius from walls; if not, it is laid with the shortest tangents.
    """
    place, tangent, control = work.place, work.tangent, work.control
    px, py, qx, qy = place[k, 0], place[k, 1], place[k + 1, 0], place[k + 1, 1]
    ux, uy, vx, vy = tangent[k, 0], tangent[k, 1], tangent[k + 1, 0], tangent[k + 1, 1]
    third = hypot(qx - px, qy - py) / 3.0
    longest = SCALES[2] * third
    out = _reach(mesh, polygon, px, py, ux, uy, longest, radius)
    back = _reach(mesh, polygon, qx, qy, -vx, -vy, longest, radius)
    control[0, 0], control[0, 1], control[3, 0], control[3, 1] = px, py, qx, qy
    for scale in SCALES:
        first, last = min(out, scale * share * third), min(back, scale * third)
        control[1, 0], control[1, 1] = px + first * ux, py + first * uy
        control[2, 0], control[2, 1] = qx - last * vx, qy - last * vy
        if is_off_walls(mesh, polygon, radius, work):
            return True
    return False


@lean_kernel
def lead_along_string(mesh, goals, corridor, x, y, radius, most, work):
    """Lead a corridor through the polygons through which the string of its agent runs.

    The string of an agent passes vertices in free ground on either side, so polygons of its corridor may be
    nearer to a wall than the agent can be.

    Parameters
    ----------
    mesh : NavMesh
    goals : GoalPieces
    corridor : Corridor
    x, y, radius : float, m
    most : int
        Portals of it that are looked for.
    work : CurveWork
        ``portals`` is written.

    Returns
    -------
    size, piece : int
        Portals of the new corridor, and the piece of the goal behind it, -1 if it is not whole; size is -1 if
        the string cannot be traced. Arrays are not handed on: kernels for loops count no references to them.
    """
    parts = trace_path(mesh, goals, corridor, x, y, radius, work.tracing)
    over, place, portals, count = work.tracing.over, work.tracing.place, work.portals, 0
    piece = np.int64(corridor.piece)
    for part in range(1, parts):
        here, beyond = over[part - 1], over[part]
        if here == beyond:
            continue
        if count == most:
            piece = np.int64(-1)
            break
        best, nearest = np.int64(-1), np.inf
        for edge in range(mesh.polygon_start[here], mesh.polygon_start[here + 1]):
            twin = mesh.edge_twin[edge]
            if twin >= 0 and mesh.edge_polygon[twin] == beyond:
                a, b = mesh.edge_vertex[edge], mesh.edge_end[edge]
                away = distance_to_segment(
                    place[part, 0], place[part, 1], mesh.vertex[a, 0], mesh.vertex[a, 1],
                    mesh.vertex[b, 0], mesh.vertex[b, 1],
                )  # fmt: skip
                if away < nearest:
                    best, nearest = np.int64(edge), away
        if best < 0:
            return np.int64(-1), piece
        portals[count] = best
        count += 1
    if parts < 1 or over[0] != corridor.polygon:
        return np.int64(-1), piece
    for k in range(count // 2):  # the next portal is the last
        portals[k], portals[count - 1 - k] = portals[count - 1 - k], portals[k]
    return np.int64(count), piece


@inlined_kernel
def _lay_gates(mesh, corridor, radius, x, y, ux, uy, count, work):
    """Lay gates over the next portals of a corridor for an agent with a velocity; return whether there is
    room in all of them.
    """
    is_wide = True
    for k in range(count):
        edge = np.int64(corridor.portals[corridor.start + corridor.length - 1 - k])
        is_wide = lay_gate(mesh, edge, radius, k, x, y, ux, uy, work) and is_wide
    return is_wide


@lean_kernel
def _lay_path(mesh, goals, corridor, x, y, radius, ux, uy, most, work):
    """Lay gates over at most so many next portals of a corridor for an agent with a velocity, and the places
    where the string crosses them.

    Returns
    -------
    pieces : int
    size, piece : int
        See `lead_along_string`; size is -1 if the corridor is the old one.
    """
    size, piece = np.int64(-1), np.int64(corridor.piece)
    count = min(corridor.length, most)
    is_wide = _lay_gates(mesh, corridor, radius, x, y, ux, uy, count, work)
    if not is_wide and mesh.vertex_clearance.size > 0:
        size, piece = lead_along_string(mesh, goals, corridor, x, y, radius, most, work)
        if size >= 0:
            count = size
            _lay_gates(mesh, _in_work(corridor, size, piece, work), radius, x, y, ux, uy, count, work)
    end = piece if size >= 0 or count == corridor.length else np.int64(-1)
    return cross_gates(mesh, goals, end, count, x, y, radius, work), size, piece


@inlined_kernel
def _in_work(corridor, size, piece, work):
    """Return the corridor along the string of an agent."""
    return Corridor(work.portals, np.int64(0), size, np.int64(corridor.polygon), piece)


@inlined_kernel
def _polygon_of(mesh, corridor, k):
    """Return the polygon in which piece k of a path lies."""
    if k == 0:
        return np.int64(corridor.polygon)
    return np.int64(mesh.edge_polygon[mesh.edge_twin[corridor.portals[corridor.start + corridor.length - k]]])


@inlined_kernel
def _portal_at(corridor, k):
    """Return the portal on which place k of a path is; -1 at its end."""
    return np.int64(corridor.portals[corridor.start + corridor.length - k]) if k <= corridor.length else -1


@lean_kernel
def _begin(x, y, ux, uy, speed, work):
    """Write the tangent where a path begins, from the velocity of its agent; return how much it counts
    (0..1).

    An agent that others slow down does not go on as it went: with the fourth power of its share of its speed
    a crowd is through a door about as soon as on straight paths.
    """
    place, tangent = work.place, work.tangent
    dx, dy = place[1, 0] - x, place[1, 1] - y
    distance, pace = hypot(dx, dy), hypot(ux, uy)
    along = ux * dx + uy * dy
    if along > 0.0 and pace > 0.0 and speed > 0.0:
        tangent[0, 0], tangent[0, 1] = ux / pace, uy / pace
        share = min(1.0, pace / speed)
        return min(1.0, along / (distance * pace)) * share * share * share * share
    tangent[0, 0], tangent[0, 1] = (dx / distance, dy / distance) if distance > 0.0 else (1.0, 0.0)
    return 1.0


@kernel
def lay_curve(mesh, goals, corridor, x, y, radius, control, over, is_clear):
    """Lay the curve of a whole path.

    Parameters
    ----------
    mesh : NavMesh
    goals : GoalPieces
    corridor : Corridor
    x, y : float, m
        Where the path begins, in the direction of its first crossing.
    radius : float, m
    control : (k + 1, 4, 2) float64, m
        Receives the control points of the pieces over at most k portals.
    over : (k + 1,) int64
        Receives the polygons in which they are.
    is_clear : (k + 1,) uint8
        Receives 1 for those that keep the radius from walls.

    Returns
    -------
    int
        Number of pieces.

    Notes
    -----
    Twin: `tests/reference/curve.py`.
    """
    most = is_clear.size - 1
    work = make_curve_work(most, mesh.polygon_start.size - 1)
    pieces, size, piece = _lay_path(mesh, goals, corridor, x, y, radius, 0.0, 0.0, most, work)
    if size >= 0:
        corridor = Corridor(work.portals, np.int64(0), size, np.int64(corridor.polygon), piece)
    _begin(x, y, 0.0, 0.0, 0.0, work)
    for k in range(pieces):
        direct_crossing(mesh, _portal_at(corridor, k + 1), k + 1, pieces, radius, work)
        over[k] = _polygon_of(mesh, corridor, k)
        is_clear[k] = lay_piece(mesh, over[k], k, 1.0, radius, work)
        for i in range(4):
            control[k, i, 0], control[k, i, 1] = work.control[i, 0], work.control[i, 1]
    return pieces


@kernel
def curve_many(start, stop, mesh, goals, corridors, wants, speed, velocity, tick_length, out_velocity):
    """Turn the preferred velocities of the agents of rows start..stop - 1 along the curves of their paths.

    Parameters
    ----------
    start, stop : int
    mesh : NavMesh
    goals : GoalPieces
    corridors : Corridors
    wants : (n,) uint8
        1 for those that follow; the others are left alone.
    speed : (n,) float64, m/s
    velocity : (n, 2) float64, m/s
        With which each came here: its curve begins in that direction.
    tick_length : float, s
    out_velocity : (n, 2) float64, m/s
        In and out: see `steer_many`. Where no curve keeps an agent off the walls, it is left as it is.

    Notes
    -----
    The curve is laid anew in every tick from where the agent is, so nothing is kept of it and a push
    changes it at once. It is steered at a point a little ahead on it. Twin: `tests/reference/curve.py`.
    """
    work = make_curve_work(LOOKAHEAD, mesh.polygon_start.size - 1)
    _curve_rows(start, stop, mesh, goals, corridors, wants, speed, velocity, tick_length, out_velocity, work)


@lean_kernel
def _curve_rows(start, stop, mesh, goals, corridors, wants, speed, velocity, tick_length, out_velocity, work):
    for row in range(start, stop):
        pace = hypot(out_velocity[row, 0], out_velocity[row, 1])
        if wants[row] == 0 or pace <= 0.0:
            continue
        x, y = corridors.position[row, 0], corridors.position[row, 1]
        corridor = corridor_of(corridors, row)
        look = max(LEAST_LOOK_M, LOOK_TICKS * speed[row] * tick_length)
        is_clear, px, py = look_ahead(
            mesh, goals, corridor, x, y, corridors.radius[row], velocity[row, 0], velocity[row, 1],
            speed[row], look, work,
        )  # fmt: skip
        dx, dy = px - x, py - y
        distance = hypot(dx, dy)
        if is_clear and distance > SHORT_M:
            out_velocity[row, 0], out_velocity[row, 1] = pace * dx / distance, pace * dy / distance


@lean_kernel
def look_ahead(mesh, goals, corridor, x, y, radius, ux, uy, speed, look, work):
    """Find the point on the curve of an agent that is so far ahead.

    Parameters
    ----------
    mesh : NavMesh
    goals : GoalPieces
    corridor : Corridor
    x, y, radius : float, m
    ux, uy : float, m/s
        Velocity of the agent.
    speed : float, m/s
        That it would like to have.
    look : float, m
        Length along the curve.
    work : CurveWork

    Returns
    -------
    is_clear : bool
        Whether the curve up to there keeps off walls.
    px, py : float, m
    """
    pieces, size, piece = _lay_path(mesh, goals, corridor, x, y, radius, ux, uy, LOOKAHEAD, work)
    if size >= 0:
        corridor = _in_work(corridor, size, piece, work)
    share = _begin(x, y, ux, uy, speed, work)
    control = work.control
    px, py, gone = x, y, 0.0
    for k in range(pieces):
        direct_crossing(mesh, _portal_at(corridor, k + 1), k + 1, pieces, radius, work)
        if not lay_piece(mesh, _polygon_of(mesh, corridor, k), k, share, radius, work):
            return False, px, py
        share = 1.0
        for step in range(1, STEPS + 1):
            t = step / STEPS
            s = 1.0 - t
            b0, b1, b2, b3 = s * s * s, 3.0 * s * s * t, 3.0 * s * t * t, t * t * t
            qx = b0 * control[0, 0] + b1 * control[1, 0] + b2 * control[2, 0] + b3 * control[3, 0]
            qy = b0 * control[0, 1] + b1 * control[1, 1] + b2 * control[2, 1] + b3 * control[3, 1]
            chord = hypot(qx - px, qy - py)
            if gone + chord >= look:
                left = (look - gone) / chord if chord > 0.0 else 0.0
                return True, px + left * (qx - px), py + left * (qy - py)
            gone += chord
            px, py = qx, qy
    return True, px, py


class Curve(NamedTuple):
    """The curve of a path.

    Attributes
    ----------
    control : (k, 4, 2) float64, m
        Control points of its cubic pieces, in order.
    polygon : (k,) int64
        In which each lies.
    is_clear : (k,) bool
        Whether it keeps the agent's radius from walls, less `TOUCH_M`; where not, agents are steered from
        corner to corner.
    """

    control: NDArray[np.float64]
    polygon: NDArray[np.int64]
    is_clear: NDArray[np.bool_]

    def points(self, count: int) -> NDArray[np.float64]:
        """Return points on each piece, (k, count, 2): with both ends, at equal steps of the parameter."""
        t = np.linspace(0.0, 1.0, count)[:, None]
        weights = np.hstack([(1 - t) ** 3, 3 * (1 - t) ** 2 * t, 3 * (1 - t) * t**2, t**3])
        return dots(weights[:, None, :], np.swapaxes(self.control, 1, 2)[:, None])


def curve_through(
    mesh: NavMesh, goals: GoalPieces, corridor: Corridor, position: NDArray[np.float64], radius: float
) -> Curve:
    """Return the curve of a path from where it begins to its goal.

    Parameters
    ----------
    mesh : NavMesh
    goals : GoalPieces
    corridor : Corridor
        Of a path that was found.
    position : (2,) float64, m
        In ``corridor.polygon``.
    radius : float, m
    """
    pieces = 2 * int(corridor.length) + 64  # along the string there may be more portals
    control, over = np.empty((pieces, 4, 2)), np.empty(pieces, dtype=np.int64)
    is_clear = np.zeros(pieces, dtype=np.uint8)
    x, y = float(position[0]), float(position[1])
    corridor = Corridor(corridor.portals, *(np.int64(each) for each in corridor[1:]))
    pieces = lay_curve(mesh, goals, corridor, x, y, float(radius), control, over, is_clear)
    control, over, is_clear = control[:pieces], over[:pieces], is_clear[:pieces]
    # A path that ends, or begins, on a portal has no length on its other side.
    is_piece = hypots(*(control[:, 3] - control[:, 0]).T) > SHORT_M
    return Curve(control[is_piece], over[is_piece], is_clear[is_piece].view(np.bool_))
