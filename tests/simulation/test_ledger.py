"""The ledger takes in what the verdict needs of events, whichever others there are in a tick."""

import numpy as np
import pytest

from crowdsim.simulation.ledger import Ledger
from crowdsim.simulation.ledger_rows import Noted, as_numbers, note_events
from crowdsim.world.events import EVENT_DTYPE, Cause, EventKind
from tests.crowds import room, simulation
from tests.reference import ledger as twin

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


@pytest.mark.parametrize("seed", range(4))
def test_events_of_a_tick_are_taken_in_as_by_the_twin(seed):
    """Some agents arrive twice in a tick, some are not listed, and some goals were set by the run."""
    random, found = np.random.default_rng(seed), []
    events = np.zeros(400, dtype=EVENT_DTYPE)
    events["kind"] = random.choice([*MATTERS, EventKind.SYMMETRY_BROKEN, EventKind.NUDGED], 400)
    events["entity"], events["value"] = random.integers(0, 60, 400), random.integers(0, len(Cause), 400)
    events["x"], events["y"] = random.uniform(-5.0, 5.0, (2, 400))
    for note, given in ((note_events, as_numbers(events)), (twin.note_events, events)):
        noted = Noted(
            np.arange(5), np.zeros(51, bool), np.arange(51) % 2 == 0, np.full(51, -1, np.int32),
            np.zeros(51, int), np.zeros((51, len(Cause)), bool),
        )  # fmt: skip
        found.append((note(given, 9, noted), noted))
    (ours, known), (theirs, expected) = found
    assert ours == theirs and min(ours) > 0 and len(set(ours)) == 3
    assert all(np.array_equal(a, b) for a, b in zip(known, expected, strict=True))
    assert known.has_come.any() and known.deadlocked.any() and not known.has_arrived.all()
