"""A page holds what the recording holds: places within 5 mm, which agent is in which state, doors, obstacles,
events and costs; no text of a run is markup.
"""

import base64
import copy
import json
import re

import numpy as np
import pytest

from crowdsim.pictures.view import moves, page
from crowdsim.pictures.view.facts import gather
from crowdsim.pictures.view.moves import Thinning
from crowdsim.pictures.view.page import assemble, write_page
from crowdsim.recording.opening import open_run
from crowdsim.scenario.load import parse_scenario, scenario_of_run
from crowdsim.simulation.simulation import Simulation
from tests.crowds import BUSY
from tests.measures.long_runs import record_walkers
from tests.reference.view_packing import unpack

NASTY = "</script><script>alert('1')</script><b>&amp;"
DOOR = {"name": "</script>door", "area": {"box": [7.5, 3, 8.5, 8]}}
CART = {
    "name": "cart",
    "shape": {"disc": 0.5},
    "path": [[2, 7], [10, 7]],
    "speed": 1.0,
    "appears": 1.0,
    "vanishes": 3.0,
}


def document(**more):
    made = copy.deepcopy(BUSY) | {"name": NASTY, "stop": {"after": 6, "when": "all_arrived"}}
    made["geometry"]["areas"] = [DOOR]
    made |= {"events": [{"at": 2.0, "close": DOOR["name"]}], "obstacles": [CART]}
    return made | more


def recorded(path, made, until=None):
    with Simulation(parse_scenario(json.dumps(made)), out=path, force=True) as run:
        while not run.why_over() and (until is None or run.tick < until):
            run.step()
    return path


def page_of(path, out, **options):
    """Write the page of a recording; return what `write_page` told, the text of the page,
    facts and arrays.
    """
    with open_run(path) as recording:
        told = write_page(recording, out, **options)
    text = out.read_text(encoding="utf-8")
    assert told["bytes"] == out.stat().st_size
    data = re.search(
        r'<script type="application/octet-stream" id="data">([A-Za-z0-9+/=]*)</script>', text
    ).group(1)
    return told, text, *unpack(base64.b64decode(data))


@pytest.fixture(scope="module")
def busy(tmp_path_factory):
    folder = tmp_path_factory.mktemp("view")
    path = recorded(folder / "run.h5", document())
    return path, *page_of(path, folder / "run.html")


def rows_of(facts, arrays):
    """The rows of a page as (entity, tick) -> (x, y, row), in metres of the run."""
    found, row = {}, 0
    for agent, first, length in zip(
        arrays["stretch_agent"], arrays["stretch_first"], arrays["stretch_length"]
    ):
        for k in range(length):
            x, y = (
                arrays[f"row_{axis}"][row] * facts["step_m"] + start
                for axis, start in zip("xy", facts["origin"])
            )
            found[arrays["agent_entity"][agent], arrays["frame_tick"][first + k]] = (x, y, row)
            row += 1
    return found


def assert_same_places(path, facts, arrays, frames=slice(None)):
    with open_run(path) as recording:
        ticks = recording.frames()["tick"].to_numpy()
        there = recording.trajectories(frames=frames, columns=["x", "y", "is_stuck", "activity", "goal"])
    found = rows_of(facts, arrays)
    assert len(found) == len(there)
    for entity, frame, x, y, is_stuck, activity, goal in there[
        ["id", "frame", "x", "y", "is_stuck", "activity", "goal"]
    ].itertuples(index=False):
        at_x, at_y, row = found[entity, ticks[frame]]
        assert np.hypot(at_x - x, at_y - y) < 0.005
        assert arrays["row_state"][row] == activity + 8 * is_stuck and arrays["row_goal"][row] == goal


def test_places_and_states_are_those_of_the_recording(busy):
    path, _, _, facts, arrays = busy
    assert_same_places(path, facts, arrays)


def test_doors_obstacles_events_and_costs_are_there(busy):
    path, told, _, facts, arrays = busy
    with open_run(path) as recording:
        events, timings = recording.events(), recording.timings()
    assert facts["doors"][0]["turns"] == [[21, False]] and facts["doors"][0]["open"] is True
    there = [arrays["frame_tick"][frame] for frame in arrays["obstacle0_frame"]]
    assert there == [tick for tick in arrays["frame_tick"] if 11 <= tick <= 30]
    x = np.array(arrays["obstacle0_x"]) * facts["step_m"]
    np.testing.assert_allclose(x, 2.0 + (np.array(there) * 0.1 - 1.0), atol=0.005)
    assert arrays["event_tick"] == events["tick"].tolist()
    assert [facts["kinds"][str(kind)] for kind in arrays["event_kind"]] == events["kind"].tolist()
    assert sum(arrays["column_microseconds"]) == pytest.approx(
        timings.drop(columns="tick").to_numpy().sum() / 1e3, rel=1e-3, abs=len(timings)
    )
    with open_run(path) as recording:
        ticks = recording.ticks()
    for name in ("agents", "stuck", "requests_open"):
        assert arrays[f"column_{name}"] == ticks[name].tolist()
    assert max(arrays["column_requests_open"]) > 0  # the budget is starved
    assert told["words"] == [] and told["rows"] == told["rows_recorded"]


def test_nothing_of_the_run_is_markup_and_nothing_may_be_loaded(busy):
    _, _, text, facts, _ = busy
    assert facts["name"] == NASTY and "alert('1')</script>" not in text and "&lt;/script&gt;" in text
    assert len(re.findall(r"<script", text)) == 2 == len(re.findall(r"</script>", text))
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text).group(1)
    assert policy.startswith("default-src 'none'; script-src 'sha256-") and "unsafe" not in policy
    assert not re.search(r"https?://|src=|href=|innerHTML|insertAdjacent|document\.write|eval\(", text)


def test_a_page_beyond_its_size_is_thinned_and_says_so(busy, tmp_path):
    path, told, *_ = busy
    small = (told["bytes"] - 600) / 1e6
    thin, _, facts, arrays = page_of(path, tmp_path / "thin.html", megabytes=small)
    assert thin["bytes"] <= small * 1e6 and thin["frames"] < told["frames"]
    assert facts["words"] == thin["words"] and re.match(
        r"Every [2345](nd|rd|th) of 31 frames is kept, [\d.]+ s apart\.$", thin["words"][0]
    )
    assert arrays["frame_tick"][-1] == 60
    found, whole = rows_of(facts, arrays), rows_of(*busy[3:])
    assert all(found[key][:2] == pytest.approx(whole[key][:2]) for key in found)


def test_agents_that_a_page_leaves_out_are_in_none_of_its_arrays(busy):
    path, told, *_ = busy
    with open_run(path) as recording:
        packed, has = gather(recording, scenario_of_run(recording.header, str(path)), Thinning(1, 3))
        entities, events = np.sort(recording.roster()["entity"].to_numpy())[::3], recording.events()
    facts, arrays = unpack(packed)
    assert has["agents"] == len(entities) < told["agents"] and facts["words"] == [
        f"Every 3rd of {told['agents_recorded']} agents is kept, with its events."
    ]
    assert {len(array) for name, array in arrays.items() if name.startswith("agent_")} == {len(entities)}
    assert list(arrays["agent_entity"]) == entities.tolist()
    kept = events[events["entity"].isin([0, *entities])]
    assert len(arrays["event_tick"]) == len(kept) < len(events)


def test_a_large_page_is_thinned_at_once_after_a_look_at_a_few_agents(busy, tmp_path, monkeypatch):
    path, told, *_ = busy
    monkeypatch.setattr(page, "MOST_TRIED", 100)
    monkeypatch.setattr(page, "LOOKED_AT", 500)
    tried = []
    monkeypatch.setattr(page, "gather", lambda *given: tried.append(given[2]) or gather(*given))
    thin, *_ = page_of(path, tmp_path / "thin.html", megabytes=0.005)
    assert tried[0] == Thinning(1, 3) and tried[1] != Thinning() and thin["bytes"] < told["bytes"]
    tried.clear()
    same, *_ = page_of(path, tmp_path / "whole.html")
    assert tried == [Thinning(1, 3), Thinning()] and same["bytes"] == told["bytes"]


def test_what_cannot_be_thinned_is_said(busy, tmp_path):
    told, *_ = page_of(busy[0], tmp_path / "thin.html", megabytes=0.01)
    assert told["words"][-1] == "The page is larger than 0.01 MB even so: the plan and its events take that."


def test_agents_that_come_back_into_a_region_and_every_third_agent(tmp_path):
    record = {
        "rate": 10,
        "region": {"box": [3, 0, 9, 8]},
        "agents": {"every": 3},
        "columns": ["is_stuck", "activity", "goal"],
    }
    path = recorded(tmp_path / "run.h5", document(record=record))
    _, _, facts, arrays = page_of(path, tmp_path / "run.html")
    assert facts["columns"] == ["x", "y", "activity", "is_stuck", "goal"] and "row_corner_x" not in arrays
    assert_same_places(path, facts, arrays)


def test_agents_that_wait_for_a_door_are_waiting_on_the_page_until_the_clock_opens_it(tmp_path):
    made = document(obstacles=[], events=[{"at": 4.0, "open": "gate"}], stop={"after": 6})
    made["geometry"] = {
        "walkable": [{"box": [0, 0, 5, 4]}, {"box": [5, 1, 6, 3]}, {"box": [6, 0, 11, 4]}],
        "areas": [{"name": "gate", "area": {"box": [5, 1, 6, 3]}, "available": False}],
    }
    made["goals"] = {"far": {"point": [10, 2]}}
    made["groups"] = [{"name": "shut", "positions": [[2.0, 2.0]], "goals": ["far"]}]
    path = recorded(tmp_path / "run.h5", made)
    _, _, _, arrays = page_of(path, tmp_path / "run.html")
    state = dict(zip(arrays["frame_tick"], arrays["row_state"], strict=True))
    tick_s = made["tick"]
    assert {each for tick, each in state.items() if 1.0 < tick * tick_s < 3.9} == {0}
    assert state[max(state)] == 1  # it walks


def test_a_run_in_which_nobody_is(tmp_path):
    path = recorded(
        tmp_path / "run.h5", document(record={"rate": 5, "region": {"box": [20, 20, 21, 21]}}), until=5
    )
    told, _, facts, arrays = page_of(path, tmp_path / "run.html")
    assert told["rows"] == told["agents"] == 0 and told["frames"] == 3
    assert arrays["frame_tick"] == [0, 2, 4] and arrays["stretch_agent"] == [] and facts["agents"] == 38


def test_a_run_that_was_cut_off_is_shown_as_far_as_it_came(tmp_path):
    run = Simulation(parse_scenario(json.dumps(document())), out=tmp_path / "run.h5")
    for _ in range(20):
        run.step()
    run.recorder.writer.commit()
    (left,) = tmp_path.glob(".run.h5.*.partial.h5")
    (tmp_path / "left.h5").write_bytes(left.read_bytes())
    run.close()
    _, _, facts, arrays = page_of(tmp_path / "left.h5", tmp_path / "run.html")
    assert (
        facts["state"] == "running"
        and facts["last_tick"] == 20
        and arrays["frame_tick"] == list(range(0, 21, 2))
    )


def test_the_title_is_escaped():
    page = assemble('<i>"@@DATA@@', b"x").decode()
    assert "<title>&lt;i&gt;&quot;@@DATA@@ - crowdsim</title>" in page and page.count("eA==") == 1


def test_the_page_knows_which_agents_belong_together(tmp_path):
    made = document()
    made["groups"][0]["together"], made["groups"][1]["together"] = {"size": 4}, {"size": 5}
    path = recorded(tmp_path / "run.h5", made, until=10)
    _, text, _, arrays = page_of(path, tmp_path / "run.html")
    with open_run(path) as recording:
        roster = recording.roster().sort_values("entity")
        rows = recording.trajectories(slice(0, 1), ["party"]).set_index("id")["party"]
    party = np.asarray(arrays["agent_party"])
    shown = {}
    for group, entity, label in zip(roster["group_name"], roster["entity"], party.tolist(), strict=True):
        if rows[entity] < 0:
            assert label == -1
        else:
            assert shown.setdefault((group, rows[entity]), label) == label
    assert sorted(len(party[party == label]) for label in shown.values()) == [2, 4, 4, 4, 4, 4, 4, 5, 5]
    assert "drawParty" in text
    without = page_of(recorded(tmp_path / "a.h5", document(), until=3), tmp_path / "a.html")[3]
    assert "agent_party" not in without


@pytest.mark.parametrize("at_a_time", [7, 100, 1000])
def test_pieces_without_a_frame_that_is_kept_are_not_read(at_a_time, tmp_path, monkeypatch):
    path = record_walkers(tmp_path / "run.h5", 100, 21)
    with open_run(path) as recording:
        scenario = scenario_of_run(recording.header, "run")
        whole = gather(recording, scenario, Thinning(9, 1))[0]
        ranges, rows = [], type(recording).rows

        def noting(self, start, stop, columns=None):
            ranges.append((start, stop))
            return rows(self, start, stop, columns)

        monkeypatch.setattr(type(recording), "rows", noting)
        monkeypatch.setattr(moves, "BLOCK_ROWS", at_a_time)
        assert gather(recording, scenario, Thinning(9, 1))[0] == whole
    wanted = np.zeros(2100, dtype=bool)
    for frame in (0, 9, 18, 20):
        wanted[100 * frame : 100 * (frame + 1)] = True
    pieces = [(first, min(first + at_a_time, 2100)) for first in range(0, 2100, at_a_time)]
    assert ranges == [piece for piece in pieces if wanted[slice(*piece)].any()]
