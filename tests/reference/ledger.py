"""Twin of what the ledger takes from events, by masks. Kernel: note_events."""

import numpy as np

from crowdsim.world.events import EventKind


def note_events(events, tick, noted):
    """Change what is known, kind by kind; return what the kernel does."""
    kind, entity, value = events["kind"], events["entity"], events["value"]
    is_listed, goal = entity < len(noted.has_come), np.minimum(value, len(noted.arrivals) - 1)
    arrives = kind == EventKind.ARRIVAL
    noted.arrivals[:] += np.bincount(goal[arrives], minlength=len(noted.arrivals))
    noted.has_come[entity[is_listed & (kind == EventKind.SPAWN)]] = True
    own = entity[is_listed & arrives]
    noted.has_arrived[own], noted.last_tick[own] = True, tick
    noted.last_goal[own] = goal[is_listed & arrives]
    long = is_listed & (kind == EventKind.DEADLOCKED)
    noted.deadlocked[entity[long], value[long]] = True
    matters = np.isin(kind, (EventKind.SPAWN, EventKind.ARRIVAL, EventKind.RETIRED, EventKind.DEADLOCKED))
    broken = np.count_nonzero(kind == EventKind.SYMMETRY_BROKEN)
    return broken, np.count_nonzero(arrives), np.count_nonzero(matters & ~is_listed)
