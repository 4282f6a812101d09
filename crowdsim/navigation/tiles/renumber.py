"""What stays as it was when ground changes: polygons of one mesh that another one has too, with all that depends on them.

A mesh is built anew when an area is opened or closed. Far from the change the new polygons are the old ones under other numbers, and ways through them
are as good as before; who has such a way keeps it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.navigation.goals.goals import GoalPieces
from crowdsim.navigation.mesh.mesh import NavMesh


class Carried(NamedTuple):
    """New numbers of what stayed; -1 for what did not.

    Attributes
    ----------
    polygon : (np,) int32
    edge : (ne,) int32
    piece : (k,) int32
        Pieces of goals, in polygons that stayed, with as much room as before.
    """

    polygon: NDArray[np.int32]
    edge: NDArray[np.int32]
    piece: NDArray[np.int32]


def carry_over(old: NavMesh, old_goals: GoalPieces, new: NavMesh, new_goals: GoalPieces) -> Carried:
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
    Carried

    Notes
    -----
    A polygon stayed if it has the same corners, walls end at the same of them, and the same of its edges can be crossed: then the same bodies can go
    through it, from each edge to each. Held by `tests/navigation/tiles/test_changed_ground.py`.
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
    pieces = {key: number for number, key in enumerate(_piece_keys(new_goals, np.arange(new.polygon_count)))}
    piece = np.array([pieces.get(key, -1) for key in _piece_keys(old_goals, polygon)], dtype=np.int32)
    return Carried(polygon, edge, piece)


def _shapes(mesh: NavMesh) -> list[tuple[bytes, int]]:
    """Return for each polygon what it is, from its lowest corner on, and which of its corners that is."""
    corner = mesh.edge_vertex
    facts = np.column_stack([mesh.vertex[corner], mesh.is_wall_vertex[corner], mesh.edge_twin >= 0, mesh.edge_wall >= 0, mesh.polygon_layer[mesh.edge_polygon]])
    rank = np.empty(mesh.edge_count, dtype=np.int64)
    rank[np.lexsort((facts[:, 1], facts[:, 0]))] = np.arange(mesh.edge_count)
    found = []
    for first, last in zip(mesh.polygon_start[:-1].tolist(), mesh.polygon_start[1:].tolist(), strict=True):
        turn = int(np.argmin(rank[first:last]))
        found.append((np.concatenate([facts[first + turn : last], facts[first : first + turn]]).tobytes(), turn))
    return found


def _piece_keys(goals: GoalPieces, number: NDArray[np.int32] | NDArray[np.int64]) -> list[tuple[int, int, int, bytes, float]]:
    """Return what each piece is: goal, source, new number of its polygon, corners, room; a piece whose polygon is gone is like no other."""
    found = []
    for goal, (first, last) in enumerate(zip(goals.goal_start[:-1].tolist(), goals.goal_start[1:].tolist(), strict=True)):
        for piece in range(first, last):
            place = int(number[goals.piece_polygon[piece]])
            corners = goals.vertex[goals.vertex_start[piece] : goals.vertex_start[piece + 1]].tobytes()
            found.append((goal if place >= 0 else -1 - piece, int(goals.piece_source[piece]), place, corners, float(goals.clearance[piece])))
    return found


def corridors_that_stay(
    old: NavMesh,
    carried: Carried,
    cells: NDArray[np.int32],
    block: NDArray[np.int64],
    length: NDArray[np.int32],
    under: NDArray[np.int64],
    piece: NDArray[np.int32],
) -> NDArray[np.bool_]:
    """Return whose corridors lead through nothing but polygons that stayed.

    Parameters
    ----------
    old : NavMesh
    carried : Carried
    cells : (m,) int32
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
    portal = cells[places_in(block, length)]
    is_gone = (carried.edge[portal] < 0) | (carried.edge[old.edge_twin[portal]] < 0)
    gone = np.bincount(owner, weights=is_gone, minlength=len(block))
    return (gone == 0) & (carried.polygon[under] >= 0) & (carried.piece[piece] >= 0)


def places_in(block: NDArray[np.int64], length: NDArray[np.int32] | NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the places in a corridor store of all portals of some corridors, one corridor after the other."""
    ends = np.cumsum(length, dtype=np.int64)
    return np.repeat(block - ends + length, length) + np.arange(ends[-1] if len(ends) else 0)
