"""How far it is at least to a goal from the end of every straight part:
one backward search, for all agents with that goal ([Norberg 2004], section 3.3).

It is Dijkstra's search over the edges of the graph, from a goal backwards. Agents of several radii share it,
so it takes of each length what none of them can go below: arcs as the thinnest bends, which turns least, and
the straight parts between as the widest has them, whose crossing tangents are the shortest. So these
distances never exceed what is left of a path, and from one straight part to the next they differ by no more
than the path between costs: A* drawn by them finds the same paths as by the straight line, and looks at less.
Where all have one radius, straight parts that are too narrow for it are left out.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.hypot import hypot
from crowdsim.geometry.plane import angle_between
from crowdsim.kernels.decorator import inlined_kernel, lean_kernel
from crowdsim.navigation.corridor.funnel import tangent
from crowdsim.navigation.goals.goals import GoalPieces, nearest_in_piece
from crowdsim.navigation.mesh.mesh import NavMesh, make_flood
from crowdsim.navigation.search.a_star import NOT_IN_HEAP, pop_first
from crowdsim.navigation.search.sharing import SharedTrees
from crowdsim.navigation.search.slot_fields import HEAP_SIZE
from crowdsim.navigation.visibility.clear import is_edge_clear
from crowdsim.navigation.visibility.graph import MOST_PORTALS, VisibilityGraph, disc_of
from crowdsim.navigation.visibility.links import GoalLinks
from crowdsim.navigation.visibility.search import STRAIGHT_ON, Scratch, queue_node
from crowdsim.saved import WIDEST_M, Saved

# Agents between the same multiples share a tree; smaller gives closer distances, and more trees.
RADIUS_STEP_M = 0.05
MOST_TREES = 1024
TREE_MEMORY_BYTES = 256 << 20  # Fewer trees on large graphs, one at least.
# Requests share from so many on as the graph has times as many edges: a tree looks at all of them, a search
# at some.
EDGES_A_REQUEST = 1000
LEAST_TO_SHARE = 2
BYTES_A_NODE = 16
_HEADER_SIZE = 4


class TreeRows(NamedTuple):
    """Trees by rows; the names are those of search slots, whose heap they use,
    and nodes are numbered as there: edges, then the graph's nodes.

    Attributes
    ----------
    header : (t, 4) int64
    bound : (t, n) float64, m
        From the end of each edge, gone along, to the goal, at least; from each node of the graph, in any
        direction. Infinite where no path leads there.
    cost : (t, n) float64, m
        The same array.
    heap, place : (t, n) int32
        Of edges.
    """

    header: NDArray[np.int64]
    bound: NDArray[np.float64]
    cost: NDArray[np.float64]
    heap: NDArray[np.int32]
    place: NDArray[np.int32]


def make_tree_rows(trees: int, nodes: int) -> TreeRows:
    """Return room for trees: BYTES_A_NODE for each of them and node,
    taken from the system as they are touched.
    """
    bound = np.zeros((trees, nodes))
    return TreeRows(
        np.zeros((trees, _HEADER_SIZE), dtype=np.int64),
        bound,
        bound,
        np.zeros((trees, nodes), dtype=np.int32),
        np.zeros((trees, nodes), dtype=np.int32),
    )


def find_reverses(graph: VisibilityGraph) -> NDArray[np.int32]:
    """Return for each edge the one that leads back: between the same corners, on their other sides."""
    source = np.repeat(np.arange(len(graph.edge_start) - 1, dtype=np.int64), np.diff(graph.edge_start))
    target, nodes = graph.edge_target.astype(np.int64), len(graph.edge_start)
    return np.searchsorted(source * nodes + target, (target ^ 1) * nodes + (source ^ 1)).astype(np.int32)


@inlined_kernel
def _along(graph, begin, end, radius):
    """Return direction and length of the tangent from one node of the graph to another, as (ux, uy,
    length).
    """
    ax, ay, a_side = disc_of(graph, begin, radius)
    bx, by, b_side = disc_of(graph, end, radius)
    return tangent(ax, ay, a_side, bx, by, b_side)


@inlined_kernel
def _bends_wrongly(node, ux, uy, vx, vy):
    """Return whether a path from direction u to v round a node of the graph turns away from its corner."""
    turn = ux * vy - uy * vx
    return (turn if node % 2 == 0 else -turn) < -STRAIGHT_ON


@inlined_kernel
def _reach(trees, row, edge, length):
    """Note that it is no farther than this from the end of an edge to the goal."""
    if length >= trees.bound[row, edge]:
        return
    trees.bound[row, edge] = length
    queue_node(trees, row, edge)


@lean_kernel
def begin_tree(trees, row, graph, reverse, goals, links, goal, thinnest, widest):
    """Set a tree up: the goal can be gone to straight from the corners that are linked with it.

    Parameters
    ----------
    trees : TreeRows
    row : int
    graph : VisibilityGraph
    reverse : (ne,) int32
        See `find_reverses`.
    goals : GoalPieces
    links : GoalLinks
    goal : int
    thinnest, widest : float, m
        Radii of the agents that share the tree.
    """
    edges = graph.edge_target.size
    trees.bound[row, :] = np.inf
    trees.place[row, :] = NOT_IN_HEAP
    trees.header[row, HEAP_SIZE] = 0
    for link in range(links.start[goal], links.start[goal + 1]):
        corner, piece = np.int64(links.corner[link]), np.int64(links.piece[link])
        x, y = graph.corners.position[corner, 0], graph.corners.position[corner, 1]
        tx, ty = nearest_in_piece(goals, piece, x, y)
        apart = hypot(tx - x, ty - y)
        least = np.sqrt(max(0.0, (apart - widest) * (apart + widest)))
        for node in range(2 * corner, 2 * corner + 2):
            trees.bound[row, edges + node] = min(trees.bound[row, edges + node], least)
            for back in range(graph.edge_start[node ^ 1], graph.edge_start[(node ^ 1) + 1]):
                if graph.edge_low[back] <= widest and graph.edge_high[back] >= thinnest:
                    _reach(trees, row, np.int64(reverse[back]), least)


@lean_kernel
def advance_tree(trees, row, mesh, graph, reverse, thinnest, widest, grant, scratch):
    """Let a tree grow.

    Parameters
    ----------
    trees : TreeRows
    row : int
    mesh : NavMesh
    graph : VisibilityGraph
    reverse : (ne,) int32
    thinnest, widest : float, m
        As when it began.
    grant : int
        Most expansions.
    scratch : Scratch

    Returns
    -------
    used : int
        Expansions made.
    is_grown : bool

    Notes
    -----
    The edges that lead to a node are those that leave it on its other side, turned round. Twin:
    `tests/reference/visibility_trees.py`.
    """
    used, edges = 0, graph.edge_target.size
    while used < grant and trees.header[row, HEAP_SIZE] > 0:
        edge = np.int64(pop_first(trees, row))
        used += 1
        end, node = np.int64(graph.edge_target[edge]), np.int64(graph.edge_target[reverse[edge]]) ^ 1
        if thinnest == widest and not is_edge_clear(mesh, graph, edge, node, widest, scratch):
            continue
        vx, vy, length = _along(graph, node, end, widest)
        wx, wy, _ = _along(graph, node, end, thinnest)
        left = trees.bound[row, edge] + length
        trees.bound[row, edges + node] = min(trees.bound[row, edges + node], left)
        for back in range(graph.edge_start[node ^ 1], graph.edge_start[(node ^ 1) + 1]):
            before = np.int64(reverse[back])
            if (
                graph.edge_low[back] > widest
                or graph.edge_high[back] < thinnest
                or left >= trees.bound[row, before]
            ):
                continue
            first = np.int64(graph.edge_target[back]) ^ 1
            ux, uy, _ = _along(graph, first, node, widest)
            if _bends_wrongly(node, ux, uy, vx, vy):
                continue
            arc = 0.0
            if thinnest > 0.0:
                ux, uy, _ = _along(graph, first, node, thinnest)
                if not _bends_wrongly(node, ux, uy, wx, wy):
                    arc = thinnest * angle_between(ux, uy, wx, wy)
            _reach(trees, row, before, left + arc)
    return used, trees.header[row, HEAP_SIZE] == 0


class CornerTrees(SharedTrees):
    """The trees of a planner over points of visibility; requests share one by goal and `radius_class`.

    Parameters
    ----------
    mesh : NavMesh
    graph : VisibilityGraph
    goals : GoalPieces
    links : GoalLinks

    Attributes
    ----------
    rows : TreeRows
    """

    def __init__(self, mesh: NavMesh, graph: VisibilityGraph, goals: GoalPieces, links: GoalLinks) -> None:
        nodes = graph.edge_count + len(graph.edge_start) - 1
        most = int(min(MOST_TREES, max(1, TREE_MEMORY_BYTES // (BYTES_A_NODE * max(1, nodes)))))
        super().__init__(most, max(LEAST_TO_SHARE, graph.edge_count // EDGES_A_REQUEST))
        self._mesh, self._graph, self._goals, self._links, self._reverse = (
            mesh,
            graph,
            goals,
            links,
            find_reverses(graph),
        )
        self._scratch = Scratch(make_flood(mesh.polygon_count), np.zeros(MOST_PORTALS + 1, dtype=np.int32))
        self.rows: TreeRows = make_tree_rows(most, nodes)

    def take_goals(self, goals: GoalPieces, links: GoalLinks, changed: NDArray[np.int64]) -> None:
        """Search for other goals from now on; nothing waits for those that have changed."""
        self._goals, self._links = goals, links
        gone = set(changed.tolist())
        self.forget(lambda wanted: wanted[0] in gone)

    @staticmethod
    def radius_class(radius: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return for each of k radii (m) the steps between which it lies, both the same on a step: (k, 2)."""
        steps = np.asarray(radius, dtype=np.float64) / RADIUS_STEP_M
        nearest = np.round(steps)
        is_on_step = np.abs(steps - nearest) < 1e-6
        return np.column_stack(
            [np.where(is_on_step, nearest, np.floor(steps)), np.where(is_on_step, nearest, np.ceil(steps))]
        )

    def _check(self, saved: Saved, wanted: NDArray[np.float64]) -> None:
        saved.require(wanted.shape[1] == 3, "wanted", "are not goals with two steps of radii")
        goal, low, high = wanted.T
        is_goal = (goal >= 0) & (goal < len(self._goals.goal_start) - 1) & (goal == np.floor(goal))
        is_class = (low >= 0.0) & (high >= low) & (high <= low + 1.0) & (high * RADIUS_STEP_M <= WIDEST_M)
        saved.require(
            np.column_stack([is_goal, is_class, is_class]),
            "wanted",
            "there is no such goal, or class of radii",
        )

    def _begin(self, row: int, wanted: tuple[float, ...], detail: float) -> None:
        goal, low, high = wanted
        begin_tree(
            self.rows,
            row,
            self._graph,
            self._reverse,
            self._goals,
            self._links,
            int(goal),
            low * RADIUS_STEP_M,
            high * RADIUS_STEP_M,
        )

    def _advance(self, row: int, wanted: tuple[float, ...], grant: int) -> tuple[int, bool]:
        _, low, high = wanted
        thinnest, widest = low * RADIUS_STEP_M, high * RADIUS_STEP_M
        used, is_grown = advance_tree(
            self.rows, row, self._mesh, self._graph, self._reverse, thinnest, widest, grant, self._scratch
        )
        return int(used), bool(is_grown)
