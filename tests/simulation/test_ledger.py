"""The ledger takes in what the verdict needs of events, whichever others there are in a tick."""

import numpy as np
import pytest

from crowdsim.simulation.ledger import Ledger
from crowdsim.world.events import EVENT_DTYPE, EventKind
from tests.crowds import room, simulation

MATTERS = {EventKind.SPAWN, EventKind.ARRIVAL, EventKind.RETIRED, EventKind.DEADLOCKED}


@pytest.mark.parametrize("kind", list(EventKind), ids=lambda kind: kind.name)
def test_events_of_agents_that_came_in_are_passed_on_where_they_matter(kind, monkeypatch):
    with simulation(room([{"position": [0, 0]}])) as run:
        ledger = run.ledger
        assert isinstance(ledger, Ledger)
        given = []
        monkeypatch.setattr(
            ledger._guests, "note", lambda tick, events: given.append(events["kind"].tolist())
        )
        events = np.zeros(2, dtype=EVENT_DTYPE)
        events["entity"], events["kind"] = run.world.listed + 1, [EventKind.NUDGED, kind]
        ledger.note(7, {}, events)
        assert given == ([[EventKind.NUDGED, kind]] if kind in MATTERS else [])
        assert ledger._numbers["symmetries_broken"] == (kind == EventKind.SYMMETRY_BROKEN)
        assert ledger._numbers["last_arrival_tick"] == (7 if kind == EventKind.ARRIVAL else 0)
