"""Guesses over the edges of the visibility graph while a path is searched for,
and joining them with it ([Norberg 2004], sections 3.1 and 3.2).

An agent is linked to the graph where it starts, as a search is; from a corner that it has reached, the edges
of the graph lead on. The guess is the edge whose unit direction has the greatest dot product with the
direction to the goal. All corners that it has visited are ignored; with none left it stays.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.hypot import hypot
from crowdsim.kernels.decorator import kernel, lean_kernel
from crowdsim.navigation.corridor.funnel import tangent
from crowdsim.navigation.goals.goals import nearest_in_piece
from crowdsim.navigation.mesh.mesh import make_flood
from crowdsim.navigation.visibility.clear import IS_CORNER, IS_TERMINAL, is_edge_clear, is_straight_clear
from crowdsim.navigation.visibility.graph import MOST_PORTALS, disc_of
from crowdsim.navigation.visibility.search import Scratch
from crowdsim.navigation.visibility.sight import NOWHERE, trace_sight
from crowdsim.navigation.visibility.tangents import ALONG, is_between_walls

# In place of a node of the graph: nothing chosen yet, all corners visited, straight to the goal.
UNDECIDED, STAY, TO_GOAL = -1, -2, -3
# A corner is reached when the agent's rim is this near to it: a step at a walk. Larger turns sooner, and
# clips the corner.
REACHED_M = 0.1


class CornerGuess(NamedTuple):
    """What is known of guesses.

    Attributes
    ----------
    target, at : (k,) int64
        Where each goes, and the corner that it reached last, see `next_corner`.
    visited : (k, m) int32
        Corners that each has reached, with a free place.
    visits : (k,) int64
        How many they are.
    """

    target: NDArray[np.int64]
    at: NDArray[np.int64]
    visited: NDArray[np.int32]
    visits: NDArray[np.int64]


class Candidates(NamedTuple):
    """Room for the nodes of the graph that an agent may go to; never shared between threads.

    Attributes
    ----------
    node : (k,) int64
        Room for both nodes of all corners that see some of one polygon.
    score : (k,) float64, m
        How far along the direction to each the goal lies: the greater the better.
    """

    node: NDArray[np.int64]
    score: NDArray[np.float64]


@lean_kernel
def _may_bend(corners, corner, x, y, radius):
    """Return for both nodes of a corner False where `_bend_at` says no for sure, without a root: for most,
    by the direction to the corner alone.
    """
    dx, dy = corners.position[corner, 0] - x, corners.position[corner, 1] - y
    # at least 2 radii away the tangent is at most 30 degrees off that direction
    if dx * dx + dy * dy < 4.0 * radius * radius:
        return True, True
    first = dy * corners.wall[corner, 0] - dx * corners.wall[corner, 1]
    second = dy * corners.wall[corner, 2] - dx * corners.wall[corner, 3]
    room = (radius + 2.0 * ALONG * (abs(dx) + abs(dy))) / 0.86
    return max(first, second) <= room, -min(first, second) <= room


@lean_kernel
def _bend_at(terrain, x, y, node, radius):
    """Return whether a path straight from (x, y) can bend at a node of the graph, as far as the corner's own
    walls go, and its unit direction.
    """
    bx, by, side = disc_of(terrain.graph, node, radius)
    ux, uy, _ = tangent(x, y, 0.0, bx, by, side)
    sign = 1.0 if node % 2 == 0 else -1.0
    bends = is_between_walls(terrain.graph.corners, node // 2, sign * uy, -sign * ux)
    return bends and (bx != x or by != y), ux, uy


@lean_kernel
def is_link(terrain, x, y, polygon, node, radius, scratch):
    """Return whether an agent at (x, y) can go straight to a node of the graph ([Norberg 2004],
    section 4.3).
    """
    corners = terrain.graph.corners
    bx, by, side = disc_of(terrain.graph, node, radius)
    bends, ux, uy = _bend_at(terrain, x, y, node, radius)
    if not bends:
        return False
    count, first, _last = trace_sight(
        terrain.mesh, corners, NOWHERE, polygon, x, y, node // 2, NOWHERE, bx, by, scratch.crossed
    )
    if count < 0:
        return False
    is_clear, _ = is_straight_clear(
        terrain.mesh,
        scratch.crossed,
        count,
        first,
        x,
        y,
        bx + side * uy,
        by - side * ux,
        radius,
        IS_TERMINAL,
        IS_CORNER,
        scratch.flood,
    )
    return is_clear


@lean_kernel
def is_edge(terrain, edge, source, radius, scratch):
    """Return whether an agent can go along an edge of the graph from the node that it leaves."""
    graph = terrain.graph
    return graph.edge_low[edge] <= radius <= graph.edge_high[edge] and is_edge_clear(
        terrain.mesh, graph, edge, source, radius, scratch
    )


@lean_kernel
def is_straight_to_goal(terrain, x, y, polygon, corner, side, piece, tx, ty, radius, scratch):
    """Return whether an agent can go straight to a point of a goal, from (x, y),
    or from beside a corner unless that is NOWHERE.
    """
    goal_polygon = np.int64(terrain.goals.piece_polygon[piece])
    count, first, _last = trace_sight(
        terrain.mesh,
        terrain.graph.corners,
        corner,
        polygon,
        x,
        y,
        NOWHERE,
        goal_polygon,
        tx,
        ty,
        scratch.crossed,
    )
    if count < 0:
        return False
    fx, fy = x, y
    if corner >= 0:
        ux, uy, _ = tangent(x, y, side, tx, ty, 0.0)
        fx, fy = x + side * uy, y - side * ux
    is_clear, _ = is_straight_clear(
        terrain.mesh,
        scratch.crossed,
        count,
        first,
        fx,
        fy,
        tx,
        ty,
        radius,
        corner < 0,
        IS_TERMINAL,
        scratch.flood,
    )
    return is_clear


@lean_kernel
def _was_visited(visited, count, corner):
    for k in range(count):
        if visited[k] == corner:
            return True
    return False


@lean_kernel
def _take_best(candidates, count):
    """Put the best of the first `count` candidates, of equals that of the lowest node, behind the others.

    Few are taken before one is in reach, so nothing is sorted.
    """
    node, score = candidates.node, candidates.score
    best, last = 0, count - 1
    for k in range(1, count):
        if score[k] > score[best] or (score[k] == score[best] and node[k] < node[best]):
            best = k
    node[best], node[last] = node[last], node[best]
    score[best], score[last] = score[last], score[best]


@lean_kernel
def next_corner(terrain, goal, radius, x, y, polygon, at, visited, count, scratch, candidates):
    """Choose where an agent goes on a guess.

    Parameters
    ----------
    terrain : Terrain
    goal : int
    radius : float, m
    x, y : float, m
    polygon : int
        Where it is.
    at : int
        The corner that it has reached, whose edges lead on; NOWHERE where it is linked like a start.
    visited : (k,) int32
        Corners that it has reached: ``visited[:count]``.
    count : int
    scratch : Scratch
    candidates : Candidates

    Returns
    -------
    int
        Node of the graph; TO_GOAL where the goal is in straight reach, STAY where every corner was visited.
        Of equals the lowest node.

    Notes
    -----
    Twin: `tests/reference/corner_guess.py`.
    """
    graph, goals = terrain.graph, terrain.goals
    gx, gy, least = 0.0, 0.0, np.inf
    target: Any = np.int64(STAY)
    for piece in range(goals.goal_start[goal], goals.goal_start[goal + 1]):
        dx, dy = goals.pole[piece, 0] - x, goals.pole[piece, 1] - y
        if hypot(dx, dy) < least:
            least, gx, gy = hypot(dx, dy), dx, dy
        tx, ty = nearest_in_piece(goals, piece, x, y)
        if is_straight_to_goal(
            terrain, x, y, polygon, NOWHERE, 0.0, np.int64(piece), tx, ty, radius, scratch
        ):
            return TO_GOAL
    best = -np.inf
    if at >= 0:
        for source in range(2 * at, 2 * at + 2):
            ax, ay, a_side = disc_of(terrain.graph, source, radius)
            for edge in range(graph.edge_start[source], graph.edge_start[source + 1]):
                node = np.int64(graph.edge_target[edge])
                bx, by, b_side = disc_of(terrain.graph, node, radius)
                ux, uy, _ = tangent(ax, ay, a_side, bx, by, b_side)
                score = ux * gx + uy * gy
                if (
                    score < best
                    or (score == best and node >= target)
                    or _was_visited(visited, count, node // 2)
                ):
                    continue
                if is_edge(terrain, edge, source, radius, scratch):
                    best, target = score, node
        return target
    # Lines of sight are what costs: they are followed from the best on, until one leads there.
    found = 0
    for place in range(graph.pvs_start[polygon], graph.pvs_start[polygon + 1]):
        corner = np.int64(graph.pvs[place])
        if _was_visited(visited, count, corner):
            continue
        left, right = _may_bend(graph.corners, corner, x, y, radius)
        if not left and not right:
            continue
        for end in range(2 * corner + (0 if left else 1), 2 * corner + (2 if right else 1)):
            bends, ux, uy = _bend_at(terrain, x, y, end, radius)
            if bends:
                candidates.node[found], candidates.score[found] = end, ux * gx + uy * gy
                found += 1
    while found > 0:
        _take_best(candidates, found)
        found -= 1
        if is_link(terrain, x, y, polygon, candidates.node[found], radius, scratch):
            return candidates.node[found]
    return target


@kernel
def guess_over_corners(
    start, stop, terrain, widest, goal, body, tick_s, position, polygon, guess, out_velocity, out_corner
):
    """Lead agents on guesses: note the corners that they have reached, choose the next,
    and set preferred velocities.

    Parameters
    ----------
    start, stop : int
        Range of the agents.
    terrain : Terrain
    widest : int
        Most corners that see some of one polygon.
    goal : (k,) int32
    body : (k, 2) float64, m and m/s
        Radius and desired speed.
    tick_s : float, s
    position : (k, 2) float64, m
    polygon : (k,) int64
    guess : CornerGuess
        Changed in place.
    out_velocity : (k, 2) float64, m/s
    out_corner : (k, 2) float64, m
        Receives the point that each goes to.
    """
    mesh, corners = terrain.mesh, terrain.graph.corners
    scratch = Scratch(make_flood(mesh.polygon_start.size - 1), np.empty(MOST_PORTALS + 1, dtype=np.int32))
    candidates = Candidates(np.empty(2 * widest, dtype=np.int64), np.empty(2 * widest))
    for row in range(start, stop):
        x, y, r, here = position[row, 0], position[row, 1], body[row, 0], polygon[row]
        node = guess.target[row]
        if node >= 0:
            corner = node // 2
            cx, cy = corners.position[corner, 0], corners.position[corner, 1]
            if hypot(cx - x, cy - y) <= r + REACHED_M:
                guess.visited[row, guess.visits[row]] = corner
                guess.visits[row] += 1
                guess.at[row], node = corner, UNDECIDED
            elif (
                trace_sight(mesh, corners, NOWHERE, here, x, y, corner, NOWHERE, cx, cy, scratch.crossed)[0]
                < 0
            ):
                guess.at[row], node = NOWHERE, UNDECIDED  # pushed off: linked anew from here
        if node == UNDECIDED or node == TO_GOAL:
            node = next_corner(
                terrain,
                goal[row],
                r,
                x,
                y,
                here,
                guess.at[row],
                guess.visited[row],
                guess.visits[row],
                scratch,
                candidates,
            )
        if node == TO_GOAL:
            guess.at[row] = NOWHERE
        guess.target[row] = node
        out_velocity[row, 0], out_velocity[row, 1], out_corner[row, 0], out_corner[row, 1] = 0.0, 0.0, x, y
        if node == STAY:
            continue
        if node >= 0:
            cx, cy, side = disc_of(terrain.graph, node, r)
            ux, uy, reach = tangent(x, y, 0.0, cx, cy, side)
        else:
            ux, uy, reach = _to_nearest(terrain.goals, goal[row], x, y)
        pace = min(body[row, 1], reach / tick_s) if node < 0 else body[row, 1]
        out_velocity[row, 0], out_velocity[row, 1] = pace * ux, pace * uy
        out_corner[row, 0], out_corner[row, 1] = x + reach * ux, y + reach * uy


@lean_kernel
def _to_nearest(goals, goal, x, y):
    """Return the unit direction and the distance (m) to the nearest point of a goal."""
    ux, uy, least = 0.0, 0.0, np.inf
    for piece in range(goals.goal_start[goal], goals.goal_start[goal + 1]):
        tx, ty = nearest_in_piece(goals, piece, x, y)
        apart = hypot(tx - x, ty - y)
        if apart < least:
            least = apart
            ux, uy = ((tx - x) / apart, (ty - y) / apart) if apart > 0.0 else (0.0, 0.0)
    return ux, uy, least


@lean_kernel
def _goes_over(terrain, x, y, polygon, corner, onward, radius, scratch):
    """Return whether an agent can go from (x, y), or from a corner unless that is NOWHERE,
    to another corner.
    """
    graph = terrain.graph
    if corner < 0:
        return is_link(terrain, x, y, polygon, 2 * onward, radius, scratch) or is_link(
            terrain, x, y, polygon, 2 * onward + 1, radius, scratch
        )
    for source in range(2 * corner, 2 * corner + 2):
        for edge in range(graph.edge_start[source], graph.edge_start[source + 1]):
            if graph.edge_target[edge] // 2 == onward and is_edge(terrain, edge, source, radius, scratch):
                return True
    return False


@lean_kernel
def join_over_corners(terrain, x, y, polygon, visited, found, piece, tx, ty, radius, chain, scratch):
    """Join what was guessed over corners with the path that was found ([Norberg 2004], section 3.2,
    steps 1 to 7).

    The guess is walked back from where the agent is. At the first vertex that is on the found path, or that
    has an edge to one of its vertices which is wide enough for the agent, it goes over; of several, to the
    one that is nearest to the goal. Where metres differ in cost it leaves out no vertex of the found path:
    what is shorter may be in sight.

    Parameters
    ----------
    terrain : Terrain
    x, y : float, m
    polygon : int
        Where the agent is: the newest vertex of the guess.
    visited : (k,) int32
        Corners that it has reached, in their order.
    found : (m,) int32
        Corners of the found path, from where the search began on.
    piece : int
    tx, ty : float, m
        Where the found path ends, in this piece of the goal.
    radius : float, m
    chain : (k + m,) int32
        Receives the corners of the joined path, the one next to the goal first.
    scratch : Scratch

    Returns
    -------
    int
        How many they are; -1 if the guess meets the path nowhere but where the search began.

    Notes
    -----
    Twin: `tests/reference/corner_guess.py`.
    """
    position, guessed, length = terrain.graph.corners.position, visited.size, found.size
    is_plain = terrain.weights.exposure <= 0.0 and terrain.weights.shunned.shape[0] == 0
    for back in range(guessed + 1):  # vertices of the guess that are walked back to
        corner = np.int64(visited[guessed - back]) if back > 0 else NOWHERE
        ax, ay = (position[corner, 0], position[corner, 1]) if corner >= 0 else (x, y)
        joins = -1  # corners of the found path that are left out
        for kept in range(length, -1, -1):
            if kept > 0 and not is_plain:
                is_met = kept < length and corner == found[kept]
            elif kept == length:
                is_met = is_straight_to_goal(
                    terrain, ax, ay, polygon, corner, radius, piece, tx, ty, radius, scratch
                )
                is_met = is_met or (
                    corner >= 0
                    and is_straight_to_goal(
                        terrain, ax, ay, polygon, corner, -radius, piece, tx, ty, radius, scratch
                    )
                )
            else:
                is_met = corner == found[kept] or _goes_over(
                    terrain, ax, ay, polygon, corner, np.int64(found[kept]), radius, scratch
                )
            if is_met:
                joins = kept
                break
        if joins < 0:
            continue
        count = 0
        for k in range(length - 1, joins - 1, -1):
            if k == joins and corner == found[k]:
                continue  # the vertex itself, which the walk back ends with
            chain[count] = found[k]
            count += 1
        for k in range(guessed - back, guessed):
            chain[count] = visited[k]
            count += 1
        return count
    return -1
