"""Naive twin of dead ends: floods that leave out one portal, or one part of the mesh.

Kernels: part_at_bridges, mark_chains.
"""


def flood(mesh, polygon, is_shut):
    """Return the polygons that are reached from one over portals that are not shut."""
    seen, waiting = {polygon}, [polygon]
    while waiting:
        here = waiting.pop()
        for edge in range(int(mesh.polygon_start[here]), int(mesh.polygon_start[here + 1])):
            twin = int(mesh.edge_twin[edge])
            if twin >= 0 and not is_shut(edge, twin):
                there = int(mesh.edge_polygon[twin])
                if there not in seen:
                    seen.add(there)
                    waiting.append(there)
    return seen


def bridges(mesh):
    """Return the half-edges over which there is no way back but over their twins."""
    found = set()
    for edge in range(mesh.edge_count):
        twin = int(mesh.edge_twin[edge])
        if twin >= 0:
            both = {edge, twin}
            reached = flood(mesh, int(mesh.edge_polygon[edge]), lambda a, _, both=both: a in both)
            if int(mesh.edge_polygon[twin]) not in reached:
                found |= both
    return found


def regions(mesh):
    """Return the polygons of the region of each polygon."""
    shut = bridges(mesh)
    return [frozenset(flood(mesh, p, lambda a, _: a in shut)) for p in range(mesh.polygon_count)]


def on_chain(mesh, region, start, ends):
    """Return whether a region holds a start or an end that there is a way to, or parts the two."""
    without = flood(
        mesh, start, lambda a, b: int(mesh.edge_polygon[a]) in region or int(mesh.edge_polygon[b]) in region
    )
    return start in region or any(end in flood(mesh, start, lambda *_: False) - without for end in ends)
