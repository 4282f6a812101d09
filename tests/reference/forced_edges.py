"""Twin of `crowdsim.geometry.forced_edges.force_edges`:
whether a set of triangles is a triangulation that has certain edges.
"""

import itertools


def has_edges(triangles, wanted):
    """Return whether all wanted edges are sides of triangles."""
    sides = {frozenset(side) for corners in triangles for side in itertools.combinations(corners, 2)}
    return all(frozenset(pair) in sides for pair in wanted)


def area_of(points, triangles):
    """Return the sum of the signed areas of triangles, and the least of them."""
    areas = [
        0.5
        * (
            (points[b][0] - points[a][0]) * (points[c][1] - points[a][1])
            - (points[b][1] - points[a][1]) * (points[c][0] - points[a][0])
        )
        for a, b, c in triangles
    ]
    return sum(areas), min(areas)
