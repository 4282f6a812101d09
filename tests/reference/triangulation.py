"""Twin of the triangulation: the empty circle, edge by edge, in exact numbers.

Kernel: make_delaunay.
"""

from tests.reference.plane import in_circle


def edges_that_are_not_delaunay(vertices, triangles, neighbours):
    """Inner edges (triangle, side) with the far corner of their neighbour strictly inside the triangle's
    circle.
    """
    bad = []
    for t, corners in enumerate(triangles.tolist()):
        for i in range(3):
            other = neighbours[t, i]
            if other < 0:
                continue
            far = next(v for v in triangles[other].tolist() if v not in (corners[i], corners[(i + 1) % 3]))
            p = [float(value) for v in (*corners, far) for value in vertices[v]]
            if in_circle(*p) > 0:
                bad.append((t, i))
    return bad
