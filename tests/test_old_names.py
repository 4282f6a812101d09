"""Names of before go on working wherever users have them, with a note that names the new one:
in programs and plug-ins, and in recordings.
"""

from __future__ import annotations

import gzip
import importlib
import json
import re
import sys
import warnings
from dataclasses import dataclass

import h5py
import numpy as np
import pytest

from crowdsim import Simulation, systems
from crowdsim.avoidance import plugins
from crowdsim.avoidance.plugins import PluginError
from crowdsim.errors import ScenarioError
from crowdsim.navigation.planning.protocol import Answers
from crowdsim.old_names import COLUMNS, COUNTS, PARAMETERS, SYSTEMS, OldName, OldNameWarning, names_of_now
from crowdsim.recording.compare import first_difference
from crowdsim.recording.opening import open_run
from crowdsim.recording.recover import copy_recording
from crowdsim.recording.renamed import parameters_of_today, scenario_of_today
from crowdsim.recording.schema import RunState
from crowdsim.scenario import parameters
from crowdsim.scenario.canonical import flow_text
from crowdsim.scenario.json_schema import scenario_schema
from crowdsim.scenario.load import parse_scenario
from crowdsim.scenario.parameters import parameter_rows
from crowdsim.simulation.listeners import event_kind
from crowdsim.systems import TICK_ORDER, System, register
from crowdsim.tunable import param
from crowdsim.world import registry
from crowdsim.world.columns import Column, ReplanCause
from crowdsim.world.events import EventKind
from tests.cli.command import crowdsim
from tests.cli.test_mistakes import outcome
from tests.crowds import ROOT

# systems that ticks have had only since the sample was recorded
SINCE = {"Choose", "Enter", "Behave", "KeepTogether", "Agree", "Route", "Ride"}

PLUG_IN = """
from crowdsim.systems import System, register
{imports}

@register
class Own{old}(System):
    after = {place}

    def process(self, tick):
        pass
"""


@pytest.fixture
def before(tmp_path):
    """A recording that was written when all of these names were others."""
    path = tmp_path / "names.h5"
    path.write_bytes(gzip.decompress((ROOT / "tests" / "samples" / "names-of-before.h5.gz").read_bytes()))
    return path


@pytest.fixture
def own_systems(monkeypatch):
    monkeypatch.setattr(registry, "_systems", {})
    monkeypatch.setattr(plugins, "_files", {})


def test_a_name_is_replaced_unless_the_new_one_is_there_for_something_else():
    assert names_of_now(["Walk", "Watch"], SYSTEMS) == ("Walk", "DetectStuck")
    assert names_of_now(["Watch", "DetectStuck"], SYSTEMS) == ("Watch", "DetectStuck")


@pytest.mark.parametrize(("old", "new"), SYSTEMS.items())
def test_a_system_is_found_under_the_name_that_it_had(old, new):
    assert new in [kind.__name__ for kind in TICK_ORDER]
    with pytest.warns(OldNameWarning, match=f"^crowdsim.systems.{old} is called {new} now") as heard:
        found = getattr(systems, old)
    assert found is getattr(systems, new) and heard[0].filename == __file__
    module = f"crowdsim.systems.{old.lower()}"
    sys.modules.pop(module, None)
    with pytest.warns(OldNameWarning) as heard:
        assert getattr(importlib.import_module(module), old) is found
    assert [str(each.message).split(" is ")[0] for each in heard] == [module, f"{found.__module__}.{old}"]
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        systems.Nothing  # noqa: B018


def test_the_portals_that_planners_answer_are_found_under_the_name_that_they_had():
    none = np.zeros(0, dtype=np.int64)
    answers = Answers(none, none.astype(np.uint8), none.astype(np.int32), none, np.arange(3, dtype=np.int32))
    with pytest.warns(OldNameWarning, match=r"^Answers\.cells is called Answers\.portals now") as heard:
        assert answers.cells is answers.portals
    assert heard[0].filename == __file__


@pytest.mark.parametrize("by", ["class", "module", "name"])
def test_a_plug_in_says_its_place_by_an_old_name_and_is_told_the_new_one(by, tmp_path):
    files = []
    for old in SYSTEMS:
        imports = {
            "class": f"from crowdsim.systems import {old}",
            "module": f"from crowdsim.systems.{old.lower()} import {old}",
            "name": "",
        }[by]
        files.append(tmp_path / f"{old}.py")
        files[-1].write_text(
            PLUG_IN.format(old=old, imports=imports, place=f'"{old}"' if by == "name" else old)
        )
    done = crowdsim(["tick", *(word for file in files for word in ("--plugin", file))])
    assert done.returncode == 0, done.stderr
    order = re.findall(r"^ ?\d+\. (\w+):", done.stdout, re.MULTILINE)
    notes = re.findall(r"^note: (.+):\d+: .* is called (\w+) now\.$", done.stderr, re.MULTILINE)
    for file, (old, new) in zip(files, SYSTEMS.items(), strict=True):
        assert order[order.index(new) + 1] == f"Own{old}"
        assert notes.count((str(file), new)) == 1, done.stderr


@pytest.mark.parametrize("old", SYSTEMS)
def test_no_system_of_ones_own_has_the_name_that_another_had(old, own_systems):
    with pytest.raises(PluginError, match=f"the system {old} has the name that {SYSTEMS[old]} had before"):
        register(type(old, (System,), {"after": "Walk"}))


def test_a_recording_of_before_is_read_under_the_names_of_today(before):
    with open_run(before) as run:
        timed = [name for name in run.timings().columns if name != "tick"]
        assert timed == [kind.__name__ for kind in TICK_ORDER if kind.__name__ not in SINCE]
        assert {run.layout.renamed[new]: new for new in SYSTEMS.values()} == SYSTEMS


@pytest.mark.parametrize("arguments", [["verify"], ["budget"], ["info"], ["measure"], ["deadlocks"]])
def test_verbs_take_a_recording_of_before(arguments, before, capsys):
    code, out, err = outcome(capsys, *arguments, str(before))
    assert code == 0, err
    assert not {*SYSTEMS, *COLUMNS, *COUNTS} & set(re.findall(r"\w+", out)), out


def test_what_is_copied_out_of_a_recording_of_before_has_the_names_of_today(before, tmp_path):
    copy_recording(before, tmp_path / "copy.h5")
    with open_run(before) as old, open_run(tmp_path / "copy.h5") as new:
        assert new.layout == old.layout and not new.layout.renamed and new.state is RunState.FINISHED
        for name in set(old.sizes()) - {"verdict"}:
            assert old.table(name).tobytes() == new.table(name).tobytes()
        assert old.verdict == new.verdict and "path closed" in new.verdict["result"]["replans"]
        words = [run.table("verdict").tobytes() for run in (old, new)]
        assert [b"path shut" in each for each in words] == [True, False]


SCENE = """
version: 1
geometry: {walkable: {box: [0, 0, 9, 3]}}
goals: {out: {exit: {box: [8, 0, 9, 3]}}}
groups:
  - {name: some, count: 3, region: {box: [1, 0, 3, 3]}, goals: [out]}
"""
ROWS = {row["name"]: row for row in parameter_rows()}
OWNERS = {
    "avoidance": ["sampled-hrvo", "toi", "clearpath"],
    "navigation": ["mesh", "optimal", "visibility"],
    "bodies": [""],
}
KEYS = [
    (section, owner, old, now)
    for section, renamed in PARAMETERS.items()
    for old, now in renamed.items()
    for owner in OWNERS[section]
    if ".".join(part for part in (section, owner, now) if part) in ROWS
]


# Of the recording of before: no group of its has the model that has the one left out.
OF_THE_SAMPLE = {
    f"{section}.{old}": f"{section}.{now}"
    for section, renamed in PARAMETERS.items()
    for old, now in renamed.items()
    if old != "time_horizon_standing"
}


def selected(section, owner):
    selector = {"avoidance": "model", "navigation": "kind"}.get(section)
    return {selector: owner} if selector else {}


def row_of(section, owner, now):
    return ROWS[".".join(part for part in (section, owner, now) if part)]


def another(section, owner, now):
    """Return a value of a parameter that is not its default."""
    row = row_of(section, owner, now)
    default = row["default"]
    if isinstance(default, str):
        return next(choice for choice in row["range"].split(" | ") if choice != default)
    return not default if isinstance(default, bool) else default / 2


@pytest.mark.parametrize(("section", "owner", "old", "now"), KEYS)
def test_a_scenario_with_an_old_key_means_the_same_and_is_told_the_new_one_once(
    section, owner, old, now, tmp_path, capsys
):
    value = another(section, owner, now)
    texts = {
        key: SCENE + flow_text({section: {**selected(section, owner), key: value}})[1:-1] + "\n"
        for key in (old, now)
    }
    scenarios = {key: parse_scenario(text, file="s.yaml") for key, text in texts.items()}
    assert scenarios[old].canonical() == scenarios[now].canonical()
    assert f"  {now}: {flow_text(value)}\n" in scenarios[old].canonical()
    assert not scenarios[now].notes
    assert [str(note).split(": ", 1) for note in scenarios[old].notes] == [
        [f"s.yaml:7:{texts[old].splitlines()[6].index(old) + 1}", f"{section}.{old}: is called {now} now"]
    ]
    path = tmp_path / "s.yaml"
    path.write_text(texts[old])
    code, _, err = outcome(capsys, "validate", str(path))
    assert code == 0 and err.count(f"{section}.{old}: is called {now} now") == 1 and f"{path}:7:" in err


@pytest.mark.parametrize(("section", "owner", "old", "now"), KEYS)
def test_an_old_key_can_be_set_and_takes_the_place_of_what_the_file_says_by_either_name(
    section, owner, old, now
):
    value = flow_text(another(section, owner, now))
    choice = [f"{section}.{key}={word}" for key, word in selected(section, owner).items()]
    expected = parse_scenario(SCENE, sets=[*choice, f"{section}.{now}={value}"])
    found = parse_scenario(SCENE, sets=[*choice, f"{section}.{old}={value}"])
    assert found.canonical() == expected.canonical()
    assert [note.file for note in found.notes] == [f"--set {section}.{old}={value}"]
    default = row_of(section, owner, now)["default"]
    for one, other in ((old, now), (now, old), (old, old)):
        text = SCENE + flow_text({section: {**selected(section, owner), one: default}})[1:-1] + "\n"
        changed = parse_scenario(text, sets=[f"{section}.{other}={value}"])
        assert changed.canonical() == expected.canonical()


@pytest.mark.parametrize(("section", "owner", "old", "now"), KEYS)
def test_an_old_key_beside_the_new_one_is_refused(section, owner, old, now):
    value = another(section, owner, now)
    both = {**selected(section, owner), now: value, old: value}
    text = SCENE + flow_text({section: both})[1:-1] + "\n"
    message = rf"{section}.{old}: {old} is called {now} now, and both are given"
    with pytest.raises(ScenarioError, match=message):
        parse_scenario(text)
    sets = [f"{section}.{key}={flow_text(each)}" for key, each in both.items()]
    with pytest.raises(ScenarioError, match=message):
        parse_scenario(SCENE, sets=sets)


@pytest.mark.parametrize("section", ["avoidance", "navigation"])
def test_an_old_key_of_a_group_and_a_value_that_is_wrong_are_told_where_they_stand(section):
    of_section = {(old, now): owner for of, owner, old, now in KEYS if of == section}
    assert len(of_section) == len(PARAMETERS[section])
    for (old, now), owner in of_section.items():
        value = another(section, owner, now)
        own = {section: {**selected(section, owner), old: value}}
        text = SCENE.replace("goals: [out]}", f"goals: [out], {flow_text(own)[1:-1]}}}")
        scenario = parse_scenario(text)
        chosen = getattr(scenario.groups[0], section)
        assert chosen.values[now] == value and len(scenario.notes) == 1
        assert scenario.notes[0].item == f"groups[0].{section}.{old}"
        with pytest.raises(ScenarioError, match=rf"scenario:6:\d+: groups\[0\]\.{section}\.{old}: "):
            parse_scenario(text.replace(f"{old}: {flow_text(value)}", f"{old}: [text]"))


def test_a_model_of_ones_own_keeps_a_parameter_that_has_an_old_name(monkeypatch):
    @dataclass(frozen=True)
    class Parameters:
        behind: float = param(0.5, "", low=0.0, high=1.0, why="none")

    with monkeypatch.context() as replaced:
        replaced.setitem(parameters._replaced, "avoidance", {"mine": Parameters})
        scenario = parse_scenario(SCENE + "avoidance: {model: mine, behind: 0.25}\n")
        assert scenario.sections["avoidance"].values == {"behind": 0.25} and not scenario.notes
        text = scenario.canonical()
    assert scenario_of_today(text, {"mine"}) == text and "behind: 0.25" in text
    assert scenario_of_today(text, set()) == text.replace("behind: 0.25", "horizon_share_behind: 0.25")
    of_clearpath = {"avoidance.model": "clearpath", "avoidance.time_horizon_standing": 2.0}
    assert parameters_of_today(of_clearpath, set()) == {
        "avoidance.model": "clearpath",
        "avoidance.time_horizon_stationary": 2.0,
    }
    given = {"avoidance.model": "mine", "avoidance.behind": 0.25}
    assert parameters_of_today(given, {"mine"}) == given


def test_editors_take_old_keys_and_strike_them_out():
    sections = scenario_schema()["properties"]
    for section, owner, old, now in KEYS:
        forms = sections[section].get("anyOf", [sections[section]])
        form = next(form for form in forms if not owner or form.get("title") == owner)["properties"]
        assert form[old] == {**form[now], "deprecated": True, "description": f"Is called {now} now."}


def test_a_column_is_chosen_by_an_old_name():
    scenario = parse_scenario(SCENE + "record: {columns: [velocity, local_way]}\n")
    assert scenario.record.columns == ("velocity", "local_path")
    assert [str(note) for note in scenario.notes] == [
        "scenario:7:30: record.columns[1]: local_way is called local_path now"
    ]
    with pytest.raises(ScenarioError, match='"local_path" is listed twice'):
        parse_scenario(SCENE + "record: {columns: [local_path, local_way]}\n")


def test_a_sweep_varies_an_old_key_and_says_so_once(tmp_path, capsys):
    path = tmp_path / "s.yaml"
    path.write_text(SCENE + "avoidance: toi\n")
    arguments = ["sweep", str(path), "--vary", "avoidance.behind=0.1,0.2,0.3", "--dry-run"]
    code, out, err = outcome(capsys, *arguments)
    assert code == 0, err
    assert (out + err).count("avoidance.behind: is called horizon_share_behind now") == 1


def test_an_event_and_a_cause_are_found_under_their_old_names():
    for code, old, now in (
        (EventKind, "WAY_LOST", "PATH_LOST"),
        (ReplanCause, "PEOPLE_AHEAD", "AGENTS_AHEAD"),
        (ReplanCause, "HELD_UP", "BLOCKED"),
        (ReplanCause, "WAY_SHUT", "PATH_CLOSED"),
        (ReplanCause, "NO_LOCAL_WAY", "NO_LOCAL_PATH"),
    ):
        with pytest.warns(OldNameWarning, match=f"^{code.__name__}.{old} is called {now} now") as heard:
            assert getattr(code, old) is code[now]
        assert heard[0].filename == __file__ and old not in code.__members__
    assert EventKind.PATH_LOST == 22 and ReplanCause.PATH_CLOSED == 3 and ReplanCause.NO_LOCAL_PATH == 6
    with pytest.warns(OldNameWarning):
        assert event_kind("way_lost") is EventKind.PATH_LOST


def test_programs_and_plug_ins_find_columns_and_counts_under_their_old_names(own_systems):
    seen = []

    def process(self, tick):
        seen.append(self.world.agents.held_ticks.copy())
        self.world.agents.held_ticks[:] = 7
        assert tick.counts["held_up"] == tick.counts["blocked"] == 0.0

    kind = type("Own", (System,), {"after": "Walk", "reads": ("held_ticks",), "writes": ("held_ticks",)})
    kind.process = process
    with (
        pytest.warns(OldNameWarning, match="held_ticks, which Own reads, is called blocked_ticks"),
        pytest.warns(OldNameWarning, match="held_ticks, which Own writes, is called blocked_ticks"),
    ):
        register(kind)
    assert kind.reads == kind.writes == ("blocked_ticks",)
    with Simulation(parse_scenario(SCENE), systems=[kind]) as run:
        with (
            pytest.warns(OldNameWarning, match="the column held_ticks is called blocked_ticks now"),
            pytest.warns(OldNameWarning, match="the count held_up is called blocked now"),
        ):
            run.step()
        assert len(seen) == 1 and run.agents.blocked_ticks.tolist() == [7, 7, 7]
        for agents in (run.agents, run.world.agents):
            for old, now in COLUMNS.items():
                with pytest.warns(OldNameWarning, match=f"the column {old} is called {now} now") as heard:
                    np.testing.assert_array_equal(getattr(agents, old), getattr(agents, now))
                assert heard[0].filename == __file__
        for old, now in COUNTS.items():
            with pytest.warns(OldNameWarning, match=f"the count {old} is called {now} now") as heard:
                assert run.counts[old] == run.counts.get(old) == run.counts[now]
            assert heard[0].filename == __file__ and old not in run.counts
        with pytest.raises(KeyError):
            run.counts["nothing"]
        assert run.counts.get("nothing") is None


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (
            {"columns": (Column("held_ticks", "int32", "", ""),)},
            'has a column "held_ticks", but a column has',
        ),
        ({"counts": ("held_up",)}, 'counts "held_up", the name that blocked had before'),
    ],
)
def test_no_column_or_count_of_ones_own_has_the_name_that_another_had(said, message, own_systems):
    with pytest.raises(PluginError, match=message):
        register(type("Own", (System,), {"after": "Walk", **said}))


def test_all_of_a_recording_of_before_has_the_names_of_today(before):
    with h5py.File(before) as file:
        fields = file["ticks"].dtype.names
        counts = file["ticks"][:]
        local_path = file["agents/local_way"][:]
        assert set(COUNTS) <= set(fields)
    with open_run(before) as run:
        ticks, agents = run.ticks(), run.trajectories()
        for old, now in COUNTS.items():
            assert old not in ticks and ticks[now].tolist() == counts[old].tolist()
        assert agents["local_path"].tolist() == local_path.tolist() and len(set(local_path)) > 2
        with pytest.warns(OldNameWarning, match="the column local_way is called local_path now") as heard:
            found = run.trajectories(columns=["local_way"])
        assert heard[0].filename == __file__ and found["local_path"].tolist() == local_path.tolist()
        assert set(COLUMNS.values()) <= {*run.layout.trace_columns} and not set(COLUMNS) & set(agents)
        assert "PATH_LOST" in set(run.events()["kind"])
        names = {*run.header.parameters}
        for old, now in OF_THE_SAMPLE.items():
            assert now in names and old not in names
        with warnings.catch_warnings():
            warnings.simplefilter("error", OldNameWarning)
            again = parse_scenario(run.header.scenario)
        assert again.canonical() == run.header.scenario and not again.notes
        toi = next(group for group in again.groups if group.name == "walkers").avoidance
        assert toi.values["weight_time_to_collision"] == 3.0
        assert again.avoidance.values["horizon_share_behind"] == 0.3


def test_a_run_of_before_and_one_of_today_are_the_same(before, tmp_path):
    with open_run(before) as old:
        scenario = parse_scenario(old.header.scenario)
    with warnings.catch_warnings():
        warnings.simplefilter("error", OldNameWarning)  # crowdsim itself asks for nothing by an old name
        with Simulation(scenario, out=tmp_path / "now.h5") as run:
            run.run()
    with open_run(before) as old, open_run(tmp_path / "now.h5") as new:
        assert first_difference(old, new, scenarios=True) is None and old.run_digest == new.run_digest
        assert list(old.layout.systems) == [name for name in new.layout.systems if name not in SINCE]
        # ChangeGround can change radii, too, and Behave what agents wait for
        assert sorted(new.layout.traced) == sorted([*old.layout.traced, "radius", "waits"])


def rows_of(page):
    """Return the table of names of before of a page, as pairs of old and new names."""
    text = (ROOT / "docs" / "reference" / page).read_text().split("| was | is |\n", 1)[1].split("\n\n", 1)[0]
    return {
        pair
        for old, now in re.findall(r"^\| (.+) \| (.+) \|$", text, re.MULTILINE)
        for pair in zip(re.findall(r"`(.+?)`", old), re.findall(r"`(.+?)`", now), strict=True)
    }


def test_the_pages_list_all_names_of_before():
    with pytest.warns(OldNameWarning):
        of_enums = {
            (old, getattr(code, old).name)
            for code in (EventKind, ReplanCause)
            for old, given in vars(code).items()
            if isinstance(given, OldName)
        }
    of_recordings = of_enums.union(SYSTEMS.items(), COLUMNS.items(), COUNTS.items())
    assert len(of_enums) == 5 and rows_of("recordings.md") == of_recordings
    assert rows_of("scenarios.md") == {
        (f"{section}.{old}", f"{section}.{now}")
        for section, renamed in PARAMETERS.items()
        for old, now in renamed.items()
    }


def test_migrate_says_which_names_of_a_recording_are_others_now(before, tmp_path, capsys):
    code, out, _ = outcome(capsys, "migrate", str(before))
    assert code == 0 and "is a recording of today's version of the format already" in out
    said = dict(re.findall(r"([\w.]+) as ([\w.]+)", out.split("those of today: ")[1]))
    assert said == {**SYSTEMS, **COLUMNS, **COUNTS, **OF_THE_SAMPLE}
    code, out, _ = outcome(capsys, "migrate", str(before), "--json")
    assert code == 0 and json.loads(out)["renamed"] == said
    copy_recording(before, tmp_path / "copy.h5")
    assert "names of before" not in outcome(capsys, "migrate", str(tmp_path / "copy.h5"))[1]


def test_a_column_is_exported_by_its_old_name_with_a_note(before, tmp_path):
    out = tmp_path / "out.csv"
    done = crowdsim(["export", before, "--format", "csv", "--columns", "local_way", "-o", out])
    assert done.returncode == 0, done.stderr
    assert done.stderr == "note: the column local_way is called local_path now.\n"
    assert out.read_text().splitlines()[0] == "id,frame,x,y,z,local_path"
