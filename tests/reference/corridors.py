"""Twin of what happens to a corridor when its agent crosses a portal.
Corridors are lists here, the next portal first.

Kernel: cross.
"""

LOOKAHEAD = 8


def cross(mesh, corridor, edge):
    """The corridor after crossing: shorter by the portal; or from where it comes by the new polygon anyhow;
    or with the path back put before it.
    """
    if corridor and corridor[0] == edge:
        return corridor[1:]
    here = mesh.edge_polygon[mesh.edge_twin[edge]]
    for place, portal in enumerate(corridor[:LOOKAHEAD]):
        if mesh.edge_polygon[mesh.edge_twin[portal]] == here:
            return corridor[place + 1 :]
    return [int(mesh.edge_twin[edge]), *corridor]
