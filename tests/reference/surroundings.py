"""Plain twin of `gather_shown`."""


def shown(rows, velocity, meant, radius, active):
    """What each slot shows: velocity, radius, the share that the other one takes of avoiding it, and `meant` if that is not None."""
    table = []
    for row in rows:
        stands = not active[row]
        own = [0.0, 0.0] if stands else list(velocity[row])
        wanted = [] if meant is None else [0.0, 0.0] if stands else list(meant[row])
        table.append([*own, radius[row], 0.5 if active[row] == 1 else 1.0, *wanted])
    return table
