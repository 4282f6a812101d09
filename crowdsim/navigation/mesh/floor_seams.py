"""The lines on which two floors meet, in floods along a line:
what lies behind one is above or below what lies before it, and in reach over the line only.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from crowdsim.geometry.hypot import hypot
from crowdsim.geometry.plane import orientation
from crowdsim.kernels.decorator import inlined_kernel

IN_LINE_M = 1e-7  # How near a vertex is to a line to be in line with it: rounding at map coordinates.
NO_SEAM = -1


@inlined_kernel
def seam_over(mesh, edge, seam):
    """Return the half-edge between two floors that was crossed last, after another portal."""
    return (
        edge
        if mesh.polygon_layer[mesh.edge_polygon[edge]]
        != mesh.polygon_layer[mesh.edge_polygon[mesh.edge_twin[edge]]]
        else seam
    )


@inlined_kernel
def is_before(mesh, seam, vertex):
    """Return whether a vertex of what lies beyond the line between two floors stands on this side of it:
    above or below this floor, and out of reach.
    """
    return seam >= 0 and depth_before(mesh, seam, mesh.vertex[vertex, 0], mesh.vertex[vertex, 1]) > IN_LINE_M


@inlined_kernel
def depth_before(mesh, seam, x, y):
    """Return how far a point is on this side of the line between two floors (m)."""
    a, b = mesh.edge_vertex[seam], mesh.edge_end[seam]
    ax, ay, bx, by = mesh.vertex[a, 0], mesh.vertex[a, 1], mesh.vertex[b, 0], mesh.vertex[b, 1]
    return orientation(ax, ay, bx, by, x, y) / hypot(bx - ax, by - ay)


@inlined_kernel
def are_apart(mesh, seam, px, py, qx, qy):
    """Return whether a line between two floors keeps p, of what lies beyond it, from q, on this floor:
    if one of them is not on its side of it.
    """
    return seam >= 0 and (
        depth_before(mesh, seam, px, py) > IN_LINE_M or depth_before(mesh, seam, qx, qy) < -IN_LINE_M
    )


@inlined_kernel
def part_before(mesh, seam, ax, ay, bx, by):
    """Return the part of the line from a to b that lies on this side of the line between two floors, as (ax,
    ay, bx, by), and whether there is one.
    """
    if seam < 0:
        return ax, ay, bx, by, True
    begin, end = depth_before(mesh, seam, ax, ay), depth_before(mesh, seam, bx, by)
    if begin < -IN_LINE_M and end < -IN_LINE_M:
        return ax, ay, bx, by, False
    if min(begin, end) >= 0.0 or begin == end:
        return ax, ay, bx, by, True
    share = min(1.0, max(0.0, begin / (begin - end)))
    x, y = ax + share * (bx - ax), ay + share * (by - ay)
    return (x, y, bx, by, True) if begin < end else (ax, ay, x, y, True)
