"""Plain twins of `pack_agents` and `unpack_choices`."""


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


def own_numbers(row, columns):
    """What the agent of a row chooses by: eight numbers, and its ids."""
    return [
        *columns.velocity[row], *columns.preferred_velocity[row], columns.radius[row],
        columns.maximum_speed[row], columns.reach[row], columns.decides[row],
    ], [columns.entity[row], columns.zone[row]]  # fmt: skip


def choices(slots, told):
    """What each row has chosen, as (vx, vy, blocker, diagnosis, neighbours, samples, reach);
    `told` has these by slot.
    """
    return [list(told[slot][:7]) for slot in slots]
