"""Numbers with names: arrays are compared with them as fast as with numbers, and columns hold nothing else."""

import enum
import operator

import numpy as np
import pytest

from crowdsim.codes import Code
from crowdsim.world.causes import Cause
from crowdsim.world.columns import AgentColumns, AgentState, Diagnosis, Gait, PathStatus, ReplanCause, Stepping
from crowdsim.world.events import EventKind


@pytest.mark.parametrize("kind", [AgentState, Cause, Diagnosis, EventKind, Gait, PathStatus, ReplanCause, Stepping])
def test_what_columns_and_events_hold_are_codes(kind):
    assert issubclass(kind, Code) and [kind(int(each)) is each and kind[each.name] is each for each in kind] == [True] * len(kind)


@pytest.mark.parametrize("compare", [operator.eq, operator.ne, operator.le, operator.gt], ids=lambda compare: compare.__name__)
def test_comparing_an_array_with_a_code_runs_no_code_of_the_enum_and_is_what_comparing_with_the_number_is(compare, monkeypatch):
    asked = []
    monkeypatch.setattr(enum.EnumType, "__getattr__", lambda kind, name: asked.append(name) or getattr(None, name), raising=False)
    column = np.array([0, 1, 2, 1], dtype=np.uint8)
    found = compare(column, AgentState.WALKING)
    assert found.dtype == np.bool_ and np.array_equal(found, compare(column, 1)) and asked == []


def test_columns_show_the_rows_that_are_there_after_they_came_went_and_grew():
    agents = AgentColumns()
    assert len(agents.entity) == 0
    agents.append(3, {"entity": [1, 2, 3], "radius": [0.1, 0.2, 0.3]})
    kept = agents.radius
    kept[1] = 0.5
    assert agents.radius.tolist() == [0.1, 0.5, 0.3]
    agents.remove(np.array([True, False, True]))
    assert agents.entity.tolist() == [1, 3] and agents.radius.tolist() == [0.1, 0.3]
    agents.append(1000, {"entity": np.arange(4, 1004)})
    assert len(agents.position) == 1002 and agents.radius[:2].tolist() == [0.1, 0.3]
    agents.restore({name: array[:2] for name, array in agents.state().items()})
    assert agents.entity.tolist() == [1, 3]
    with pytest.raises(AttributeError):
        _ = agents.no_such_column
