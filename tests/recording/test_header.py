"""The header keeps everything that is needed to run again, and refuses what it does not know."""

from __future__ import annotations

import json
import math

import pytest
import shapely

from crowdsim.errors import RecordingError
from crowdsim.recording import header as module
from crowdsim.recording.header import Header, Layout, from_json, plain, to_json
from crowdsim.recording.schema import STANDARD_COLUMNS, RecordedColumn, RecordedCount
from tests.recording.crowd import header

LAYOUT = Layout(
    STANDARD_COLUMNS, ("Plan", "Avoid"), (RecordedCount("agents", "", "present"),), ("position",), True
)


def test_header_and_layout_come_back_as_they_were():
    given = header(parameters={"orca.horizon": 5.0, "limits": [1, 2]}, layers=("ground", "first"), exact=True)
    assert from_json(to_json(given, LAYOUT)) == (given, LAYOUT)


def test_header_names_versions_processor_and_a_run_of_its_own():
    one, other = header(), header()
    assert one.run_id != other.run_id
    assert {"python", "numpy", "numba", "h5py", "hdf5", "esper", "crowdsim"} <= set(one.versions)
    assert one.cpu
    assert one.started.endswith("+00:00")
    assert one.fps == pytest.approx(10.0)


def test_numbers_that_json_cannot_write_become_text():
    assert plain({"a": math.inf, "b": (math.nan, 1.5), "c": None, "d": True}) == {
        "a": "inf",
        "b": ["nan", 1.5],
        "c": None,
        "d": True,
    }
    from_json(to_json(header(parameters={"reach": math.inf}), LAYOUT))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tick_s": 0.0}, "tick_s is 0.0"),
        ({"tick_s": math.nan}, "tick_s is nan"),
        ({"ticks_per_frame": 0}, "at least 1 tick"),
        ({"run_id": "../x"}, "run_id"),
    ],
)
def test_header_refuses_what_makes_no_sense(changes, message):
    with pytest.raises(ValueError, match=message):
        header(**changes)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"columns": (RecordedColumn("a/b", "f8", "", ""),)}, "neither slash nor point"),
        ({"columns": (RecordedColumn("a", "f8", "", ""),) * 2}, "repeat"),
        ({"columns": (RecordedColumn("a", "f8", "", "", width=3),)}, "width 3"),
        ({"counts": (RecordedCount("tick", "", ""),)}, "repeat"),
        ({"systems": ("",)}, "not empty"),
    ],
)
def test_layout_refuses_names_that_no_file_can_have(change, message):
    with pytest.raises(ValueError, match=message):
        Layout(**change)


@pytest.mark.parametrize(
    "damage",
    [
        lambda document: document.update(format="other"),
        lambda document: document.update(format_version=99),
        lambda document: document.pop("header"),
        lambda document: document["header"].pop("name"),
        lambda document: document["header"].update(seed="7"),
        lambda document: document["header"].update(tick_s=-1.0),
        lambda document: document["header"].update(groups="left"),
        lambda document: document["header"].update(goals=[1]),
        lambda document: document["layout"].update(columns=[1]),
        lambda document: document["layout"]["columns"][0].update(width=9),
        lambda document: document["layout"]["columns"][0].pop("dtype"),
    ],
)
def test_a_header_that_was_changed_is_a_plain_refusal(damage):
    document = json.loads(to_json(header(), LAYOUT))
    damage(document)
    with pytest.raises(ValueError, match=r"."):
        from_json(json.dumps(document).encode())


def test_a_header_that_is_too_long_is_refused(monkeypatch):
    monkeypatch.setattr(module, "MAXIMUM_HEADER_BYTES", 1000)
    with pytest.raises(RecordingError, match="at most"):
        to_json(header(scenario="x" * 1000), LAYOUT)


def test_one_polygon_is_handed_on_as_it_was_written():
    text = "POLYGON ((0 0, 1e1 0, 10 10.000000000000002, 0 0))"
    assert header(ground=(text,)).wkt_geometry() == text


def test_ground_in_pieces_says_so_and_floors_are_seen_from_above():
    left, right, bridge = (
        "POLYGON ((0 0, 1 0, 1 1, 0 1, 0 0))",
        "POLYGON ((2 0, 3 0, 3 1, 2 1, 2 0))",
        "POLYGON ((0.5 0, 2.5 0, 2.5 1, 0.5 1, 0.5 0))",
    )
    assert header(ground=(left, right)).wkt_geometry().startswith("MULTIPOLYGON")
    joined = shapely.from_wkt(header(ground=(left, right, bridge)).wkt_geometry())
    assert joined.geom_type == "Polygon"
    assert joined.area == pytest.approx(3.0)
    assert Header("a", "", 1, 0.1).wkt_geometry() == ""
