"""Twin of joining a guess with the path that was found ([Norberg 2004], section 3.2), with lists and words.

Kernel: join_guess.
"""


def polygons_along(mesh, portals, start):
    """The polygons that a row of portals, the next first, leads through."""
    return [start, *(int(mesh.edge_polygon[mesh.edge_twin[edge]]) for edge in portals)]


def join_guess(mesh, found, back, can_pass):
    """The row of portals, the next first, from where the agent is to the goal.

    found: portals from where the search began to the goal. back: portals from where the agent is to where the
    search began. can_pass(polygon, entry, exit): whether the agent fits from the portal `entry` (None: from
    where it is) to `exit` (None: to the goal).
    """
    start = int(mesh.edge_polygon[mesh.edge_twin[back[-1]]])
    path = polygons_along(mesh, found, start)  # P
    guess = polygons_along(mesh, back, int(mesh.edge_polygon[back[0]]))  # G, newest first
    for i, here in enumerate(guess):
        entry = int(mesh.edge_twin[back[i - 1]]) if i else None
        for j in reversed(range(len(path))):
            is_beginning = i == len(guess) - 1 and j == 0
            onward = found[j] if j < len(found) else None
            if path[j] == here and (
                is_beginning or ((entry != onward or onward is None) and can_pass(here, entry, onward))
            ):
                return [*back[:i], *found[j:]]
        for j in reversed(range(len(path))):
            onward = found[j] if j < len(found) else None
            for edge in range(int(mesh.polygon_start[here]), int(mesh.polygon_start[here + 1])):
                twin = int(mesh.edge_twin[edge])
                if (
                    twin < 0
                    or int(mesh.edge_polygon[twin]) != path[j]
                    or edge == entry
                    or not can_pass(here, entry, edge)
                ):
                    continue
                if (twin != onward or onward is None) and can_pass(path[j], twin, onward):
                    return [*back[:i], edge, *found[j:]]
                break  # the lowest portal that the agent can take is the one that counts
    raise AssertionError("the last polygon of the guess is the first of the path")
