"""Naive twin of the bottleneck forest: a flood over portals for one width.

Kernels: build_forest, join_portals, reachable_group.
"""


def reached(mesh, edge, width):
    """Return all half-edges that an agent of a width can get to from a portal that it fits through."""
    seen, waiting = {edge}, [edge]
    while waiting:
        current = waiting.pop()
        polygon = int(mesh.edge_polygon[current])
        first, last = int(mesh.polygon_start[polygon]), int(mesh.polygon_start[polygon + 1])
        nexts = [int(mesh.edge_twin[current])]
        for other in range(first, last):
            pair = mesh.pair_width[
                mesh.pair_start[polygon] + (current - first) * (last - first) + other - first
            ]
            if mesh.edge_twin[other] >= 0 and mesh.edge_width[other] >= width and pair >= width:
                nexts.append(other)
        for other in nexts:
            if other not in seen:
                seen.add(other)
                waiting.append(other)
    return seen
