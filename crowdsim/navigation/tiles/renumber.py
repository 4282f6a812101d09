"""What stays as it was when ground changes:
polygons of one mesh that another one has too, with all that depends on them.

A mesh is built anew when an area is opened or closed. Far from the change the new polygons are the old ones
under other numbers, and paths through them are as good as before; agents that follow one keep it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.navigation.goals.goals import GoalPieces
from crowdsim.navigation.mesh.mesh import NavMesh
from crowdsim.navigation.tiles.join import Joined


class Renumbered(NamedTuple):
    """What became of the polygons and half-edges of a mesh.

    Attributes
    ----------
    polygon : (old np,) int32
        New numbers; -1 for those that are gone.
    edge : (old ne,) int32
        Likewise; -1 also for portals that lead nowhere any more.
    is_narrower : (old np,) bool
        Polygons that stayed, but where some agent does not fit any more that did.
    """

    polygon: NDArray[np.int32]
    edge: NDArray[np.int32]
    is_narrower: NDArray[np.bool_]


class Unchanged(NamedTuple):
    """New numbers of what stayed; -1 for what did not.

    Attributes
    ----------
    polygon : (np,) int32
    edge : (ne,) int32
    piece : (k,) int32
        Pieces of goals, in polygons that stayed, with the clearance that they had.
    """

    polygon: NDArray[np.int32]
    edge: NDArray[np.int32]
    piece: NDArray[np.int32]


def find_unchanged(old: NavMesh, old_goals: GoalPieces, new: NavMesh, new_goals: GoalPieces) -> Unchanged:
    """Find the polygons of a mesh that another one has too.

    Parameters
    ----------
    old : NavMesh
    old_goals : GoalPieces
    new : NavMesh
    new_goals : GoalPieces
        Of the same goals.

    Returns
    -------
    Unchanged

    Notes
    -----
    A polygon stayed if it has the same corners, walls end at the same of them, and the same of its edges can
    be crossed: then the same agents can go through it, from each edge to each. Checked by
    `tests/navigation/tiles/test_changed_ground.py`.
    """
    first_of = {key: (number, turn) for number, (key, turn) in enumerate(_shapes(new))}
    polygon = np.full(old.polygon_count, -1, dtype=np.int32)
    edge = np.full(old.edge_count, -1, dtype=np.int32)
    for number, (key, turn) in enumerate(_shapes(old)):
        found = first_of.get(key)
        if found is None:
            continue
        polygon[number] = found[0]
        first, last = int(old.polygon_start[number]), int(old.polygon_start[number + 1])
        count = last - first
        steps = np.arange(count)
        edge[first + (steps + turn) % count] = new.polygon_start[found[0]] + (steps + found[1]) % count
    piece = pieces_that_stay(old_goals, new_goals, polygon)
    is_as_clear = np.append(new_goals.clearance, np.nan)[piece] == old_goals.clearance
    return Unchanged(polygon, edge, np.where(is_as_clear, piece, np.int32(-1)))


def _shapes(mesh: NavMesh) -> list[tuple[bytes, int]]:
    """Return for each polygon what it is, from its lowest corner on, and which of its corners that is."""
    corner = mesh.edge_vertex
    facts = np.column_stack(
        [
            mesh.vertex[corner],
            mesh.is_wall_vertex[corner],
            mesh.edge_twin >= 0,
            mesh.edge_wall >= 0,
            mesh.polygon_layer[mesh.edge_polygon],
        ]
    )
    rank = np.empty(mesh.edge_count, dtype=np.int64)
    rank[np.lexsort((facts[:, 1], facts[:, 0]))] = np.arange(mesh.edge_count)
    found = []
    for first, last in zip(mesh.polygon_start[:-1].tolist(), mesh.polygon_start[1:].tolist(), strict=True):
        turn = int(np.argmin(rank[first:last]))
        found.append(
            (np.concatenate([facts[first + turn : last], facts[first : first + turn]]).tobytes(), turn)
        )
    return found


def pieces_that_stay(old: GoalPieces, new: GoalPieces, polygon: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the new number of each piece of a goal; -1 for those that are gone or have another shape.

    Parameters
    ----------
    old, new : GoalPieces
        Of the same goals.
    polygon : (np,) int32
        New numbers of the polygons of before; -1 for those that are gone.

    Returns
    -------
    (k,) int32
    """
    count = int(new.piece_polygon.max(initial=-1)) + 1
    number = {key: piece for piece, key in enumerate(_piece_keys(new, np.arange(count, dtype=np.int32)))}
    return np.array([number.get(key, -1) for key in _piece_keys(old, polygon)], dtype=np.int32)


def _piece_keys(goals: GoalPieces, polygon: NDArray[np.int32]) -> list[tuple[int, int, int, bytes]]:
    """Return what each piece is: goal, source, new number of its polygon, corners."""
    goal = np.repeat(np.arange(len(goals.goal_start) - 1), np.diff(goals.goal_start))
    numbers = zip(
        goal.tolist(), goals.piece_source.tolist(), polygon[goals.piece_polygon].tolist(), strict=True
    )
    corners = np.split(goals.vertex, goals.vertex_start[1:-1]) if len(goal) else []
    return [(*key, shape.tobytes()) for key, shape in zip(numbers, corners, strict=True)]


def renumber(before: Joined, after: Joined, changed: set[int]) -> Renumbered:
    """Return what became of polygons and half-edges as tiles changed;
    those of the tiles in `changed` are gone.
    """
    polygon = np.full(before.mesh.polygon_count, -1, dtype=np.int32)
    edge = np.full(before.mesh.edge_count, -1, dtype=np.int32)
    is_narrower = np.zeros(before.mesh.polygon_count, dtype=np.bool_)
    for tile in np.flatnonzero(np.diff(before.first_polygon)).tolist():
        if tile in changed:
            continue
        old, new = (
            slice(int(each.first_polygon[tile]), int(each.first_polygon[tile + 1]))
            for each in (before, after)
        )
        polygon[old] = np.arange(new.start, new.stop)
        old_edge, new_edge = (
            slice(int(each.first_edge[tile]), int(each.first_edge[tile + 1])) for each in (before, after)
        )
        edge[old_edge] = np.arange(new_edge.start, new_edge.stop)
        old_pair, new_pair = (
            slice(int(m.pair_start[s.start]), int(m.pair_start[s.stop]))
            for m, s in ((before.mesh, old), (after.mesh, new))
        )
        narrower_edge = after.mesh.edge_width[new_edge] < before.mesh.edge_width[old_edge]
        narrower_pair = after.mesh.pair_width[new_pair] < before.mesh.pair_width[old_pair]
        starts = before.mesh.polygon_start[old] - before.mesh.polygon_start[old.start]
        pair_starts = before.mesh.pair_start[old] - before.mesh.pair_start[old.start]
        is_narrower[old] = np.logical_or.reduceat(narrower_edge, starts) | np.logical_or.reduceat(
            narrower_pair, pair_starts
        )
    edge[(edge >= 0) & (before.mesh.edge_twin >= 0) & (after.mesh.edge_twin[edge] < 0)] = -1
    return Renumbered(polygon, edge, is_narrower)


def corridors_that_stay(
    old: NavMesh,
    unchanged: Unchanged,
    portals: NDArray[np.int32],
    block: NDArray[np.int64],
    length: NDArray[np.int32],
    under: NDArray[np.int64],
    piece: NDArray[np.int32],
) -> NDArray[np.bool_]:
    """Return which corridors lead through nothing but polygons that stayed.

    Parameters
    ----------
    old : NavMesh
    unchanged : Unchanged
    portals : (m,) int32
        Corridor store, in the old numbers.
    block : (n,) int64
    length : (n,) int32
    under : (n,) int64
        Polygon under each agent, in the old numbers.
    piece : (n,) int32
        Piece of the goal at the end of each corridor, in the old numbers; not negative.

    Returns
    -------
    (n,) bool
    """
    owner = np.repeat(np.arange(len(block)), length)
    portal = portals[places_in(block, length)]
    is_gone = (unchanged.edge[portal] < 0) | (unchanged.edge[old.edge_twin[portal]] < 0)
    gone = np.bincount(owner, weights=is_gone, minlength=len(block))
    return (gone == 0) & (unchanged.polygon[under] >= 0) & (unchanged.piece[piece] >= 0)


def places_in(block: NDArray[np.int64], length: NDArray[np.int32] | NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the places in a corridor store of all portals of some corridors,
    one corridor after the other.
    """
    ends = np.cumsum(length, dtype=np.int64)
    return np.repeat(block - ends + length, length) + np.arange(ends[-1] if len(ends) else 0)
