"""Which portals an agent of any width can go between:
one forest for all widths, read before a search so that none floods the ground in vain.

Portals are joined, widest gap first, as Kruskal's algorithm joins a spanning tree of greatest bottlenecks.
The smaller group is hung under the larger one, and the width of the gap is noted at the link; so links grow
narrower towards the top, and no chain has more than log2(portals) of them. An agent goes up while it fits:
where it stops names all that it can reach.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.kernels.decorator import inlined_kernel, lean_kernel
from crowdsim.navigation.mesh.mesh import NavMesh


class BottleneckForest(NamedTuple):
    """A spanning forest of the portals of a mesh by width.

    Attributes
    ----------
    above : (ne,) int32
        Half-edge under which a half-edge hangs; itself at the top.
    width : (ne,) float64, m
        Widest agent that can go from one to the other; -1 at the top.
    """

    above: NDArray[np.int32]
    width: NDArray[np.float64]


def build_forest(mesh: NavMesh) -> BottleneckForest:
    """Return the forest of a mesh. Costs some 0.1 us a pair of edges of one polygon."""
    edges = np.arange(mesh.edge_count, dtype=np.int32)
    twins = np.flatnonzero(mesh.edge_twin > edges).astype(np.int32)
    begin, end, width = [twins], [mesh.edge_twin[twins].astype(np.int32)], [mesh.edge_width[twins]]
    sides = np.diff(mesh.polygon_start)
    for count in np.unique(sides).tolist():
        polygons = np.flatnonzero(sides == count)
        first, pairs = mesh.polygon_start[polygons], mesh.pair_start[polygons]
        for i in range(count):
            for j in range(i + 1, count):
                begin.append((first + i).astype(np.int32))
                end.append((first + j).astype(np.int32))
                both = np.minimum(mesh.edge_width[first + i], mesh.edge_width[first + j])
                width.append(np.minimum(both, mesh.pair_width[pairs + i * count + j]))
    a, b, wide = np.concatenate(begin), np.concatenate(end), np.concatenate(width)
    order = np.argsort(-wide, kind="stable")
    forest = BottleneckForest(edges.copy(), np.full(mesh.edge_count, -1.0))
    join_portals(a[order], b[order], wide[order], np.ones(mesh.edge_count, dtype=np.int32), forest)
    return forest


@lean_kernel
def join_portals(begin, end, width, size, forest):
    """Join half-edges over gaps, which come widest first.

    Parameters
    ----------
    begin, end : (k,) int32
    width : (k,) float64, m
    size : (ne,) int32
        1 for each half-edge; changed.
    forest : BottleneckForest
        Every half-edge by itself; receives the forest.

    Notes
    -----
    Twin: `tests/reference/bottleneck_forest.py`.
    """
    for k in range(begin.size):
        if width[k] <= 0.0:
            return
        a, b = reachable_group(forest, begin[k], 0.0), reachable_group(forest, end[k], 0.0)
        if a == b:
            continue
        if size[a] < size[b]:
            a, b = b, a
        forest.above[b], forest.width[b] = a, width[k]
        size[a] += size[b]


@inlined_kernel
def reachable_group(forest, edge, width):
    """Return the half-edge that names all portals to which an agent of a width (m) can go from a portal that
    it fits through.
    """
    while forest.width[edge] >= width:
        edge = forest.above[edge]
    return edge
