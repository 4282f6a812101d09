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


def exchange(start, old, new, free, used):
    """Give blocks back, one after the other, each for one of another size; `free` has lists by size. Return
    where the new ones begin, -1 for none, and where the blocks end.
    """
    got = []
    for begin, back, wanted in zip(start, old, new, strict=True):
        if back:
            free.setdefault(back, []).append(begin)
        if wanted and free.get(wanted):
            got.append(free[wanted].pop())
        elif wanted:
            got.append(used)
            used += wanted
        else:
            got.append(-1)
    return got, used
