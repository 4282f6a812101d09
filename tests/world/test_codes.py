"""Numbers with names: arrays are compared with them as fast as with numbers,
and columns hold nothing else.
"""

import enum
import operator
import re

import numpy as np
import pytest

from crowdsim.codes import Code
from crowdsim.world.columns import (
    AgentColumns,
    AgentState,
    Diagnosis,
    Gait,
    PathStatus,
    ReplanCause,
    Stepping,
)
from crowdsim.world.events import Cause, EventKind
from tests.crowds import ROOT


@pytest.mark.parametrize(
    "kind", [AgentState, Cause, Diagnosis, EventKind, Gait, PathStatus, ReplanCause, Stepping]
)
def test_what_columns_and_events_hold_are_codes(kind):
    assert issubclass(kind, Code) and [
        kind(int(each)) is each and kind[each.name] is each for each in kind
    ] == [True] * len(kind)


def test_kernels_have_the_numbers_of_statuses_and_diagnoses_by_their_names():
    from crowdsim.avoidance import model
    from crowdsim.navigation.grid import search
    from crowdsim.navigation.search import slot_fields

    for module in (slot_fields, search):
        # NONE is no outcome of a search
        for name in {each.name for each in PathStatus if each} & vars(module).keys():
            assert type(vars(module)[name]) is int and vars(module)[name] == PathStatus[name], name
    assert tuple(Diagnosis) == (model.NOT_ASKED, model.FEASIBLE, model.RELAXED, model.INFEASIBLE)


def test_pages_for_a_browser_have_words_for_each_kind_of_event_and_name_no_other():
    view = ROOT / "crowdsim" / "pictures" / "view"
    words = (view / "crowd.js").read_text().split("function sentence(")[1].split("}[kind]")[0]
    assert set(re.findall(r"\b([A-Z][A-Z_]+): ", words)) == set(EventKind.__members__)
    lines = [
        line
        for script in view.glob("*.js")
        for line in script.read_text().splitlines()
        if re.search(r"\bkinds?\b|_EVENT = ", line)
    ]
    named = {
        name
        for line in lines
        for names in re.findall(r"'([A-Z]+(?:_[A-Z]+)*)'|\^\(([A-Z_|]+)\)\$", line)
        for name in "|".join(names).strip("|").split("|")
    }
    assert len(named) > 5 and named <= set(EventKind.__members__)


@pytest.mark.parametrize(
    "compare", [operator.eq, operator.ne, operator.le, operator.gt], ids=lambda compare: compare.__name__
)
def test_comparing_an_array_with_a_code_runs_no_code_of_the_enum_and_is_what_comparing_with_the_number_is(
    compare, monkeypatch
):
    asked = []
    monkeypatch.setattr(
        enum.EnumType,
        "__getattr__",
        lambda kind, name: asked.append(name) or getattr(None, name),
        raising=False,
    )
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
    agents.remove(np.array([1]))
    assert agents.entity.tolist() == [1, 3] and agents.radius.tolist() == [0.1, 0.3]
    agents.append(1000, {"entity": np.arange(4, 1004)})
    assert len(agents.position) == 1002 and agents.radius[:2].tolist() == [0.1, 0.3]
    agents.restore({name: array[:2] for name, array in agents.state().items()})
    assert agents.entity.tolist() == [1, 3]
    with pytest.raises(AttributeError):
        _ = agents.no_such_column
