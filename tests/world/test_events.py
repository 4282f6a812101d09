"""Events come in the order in which they were noted, once."""

import numpy as np

from crowdsim.world.events import EVENT_DTYPE, EventKind, EventLog


def test_events_are_taken_once_in_the_order_in_which_they_were_noted():
    log, places = EventLog(), np.array([[1.0, 2.0], [3.0, 4.0]])
    assert (len(log.take()), log.take().dtype) == (0, EVENT_DTYPE)
    log.note(3, EventKind.ARRIVAL, np.array([4, 5]), places, np.array([7, 8]))
    log.note(3, EventKind.SPAWN, np.array([], dtype=np.int64), places[:0])
    log.note(3, EventKind.SPAWN, np.array([9]), places[1:], 1)
    expected = [(3, 4, 2, 7, 1.0, 2.0), (3, 5, 2, 8, 3.0, 4.0), (3, 9, 1, 1, 3.0, 4.0)]
    assert log.waiting().tolist() == expected
    taken = log.take()
    assert taken.tolist() == expected
    assert len(log.take()) == 0
    taken["x"] = 0.0  # they are the caller's
    log.put_back(taken[::2])
    assert log.take()["entity"].tolist() == [4, 9]
