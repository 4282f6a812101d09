"""Plain twin of `gather_states`."""


def states(rows, velocity, side_reference, radius, active):
    """The state of each slot: velocity, radius, the share that the other one takes of avoiding it,
    and `side_reference` if that is not None.
    """
    table = []
    for row in rows:
        stands = not active[row]
        own = [0.0, 0.0] if stands else list(velocity[row])
        reference = [] if side_reference is None else [0.0, 0.0] if stands else list(side_reference[row])
        table.append([*own, radius[row], 0.5 if active[row] == 1 else 1.0, *reference])
    return table
