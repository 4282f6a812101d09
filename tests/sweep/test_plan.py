"""Plans: every combination is checked before one runs, and a run's id follows from what it is."""

import pytest

from crowdsim.errors import CrowdsimError, ScenarioError
from crowdsim.sweep import plan as plan_module
from crowdsim.sweep.design import crossed, varied_values
from crowdsim.sweep.design_file import is_design_file, read_design
from crowdsim.sweep.plan import Source, plan_sweep
from tests.sweep.conftest import SMALL


def planned(path, *vary, seeds=(), **more):
    return plan_sweep(Source(path, **more), crossed(varied_values(vary)) if vary else [{}], seeds)


def ids(*arguments, **named):
    return [run.id for run in planned(*arguments, **named).runs]


def test_an_id_depends_on_the_resolved_scenario_and_the_seed_and_not_on_how_they_were_asked_for(
    small, tmp_path
):
    other = tmp_path / "other.yaml"
    other.write_text("# the same\n" + SMALL.replace("count: 3", "count: 5"))
    first = ids(small, "groups.0.count=3,5", seeds=[0, 1])
    assert len(set(first)) == 4
    assert ids(small, "groups.crowd.count=5", seeds=[1]) == [first[3]]
    assert ids(other, seeds=[1, 0]) == [first[3], first[2]]
    assert ids(small, sets=("groups.0.count=5", "seed=1")) == [first[3]]
    assert ids(small, "seed=0,1", sets=("groups.0.count=5",)) == first[2:]
    assert ids(small, "stop.after=20,20.0", sets=("groups.0.count=5",), seeds=[0]) == [first[2], first[2]]


def test_an_id_depends_on_the_code(small, monkeypatch):
    before = ids(small)
    monkeypatch.setattr(plan_module, "code_version", lambda: "another")
    assert ids(small) != before


def test_an_id_depends_on_the_source_of_a_plug_in(small, tmp_path):
    from crowdsim.avoidance.plugins import load_plugin

    plugin, found = tmp_path / "own.py", []
    text = "from crowdsim.avoidance.none import *\n" + (
        "from dataclasses import dataclass\nfrom crowdsim.avoidance.model import StatelessModel\n"
        "from crowdsim.avoidance.registry import register\n"
        "@dataclass(frozen=True)\nclass P:\n    'None.'\n@register\nclass Own(StatelessModel):\n"
        "    'Mine.'\n    name = 'own-of-sweep'\n    Parameters = P\n"
        "    def choose(self, *a, **k):\n        'Go.'\n"
    )
    for comment in ("", "# edited\n"):
        plugin.write_text(text + comment)
        load_plugin(plugin)
        found += ids(small, "avoidance=own-of-sweep", plugins=(plugin,))
    assert found[0] != found[1]


def test_a_misspelt_key_is_told_once_with_the_key_that_was_meant(small):
    with pytest.raises(ScenarioError) as told:
        planned(small, "groups.0.cuont=1,2,3", "tick=0.1,0.05")
    assert len(told.value.problems) == 1
    text = str(told.value)
    assert "--vary groups.0.cuont" in text and 'Did you mean "count"?' in text
    assert "with groups.0.cuont=1, tick=0.1 and in 5 more of 6 combinations" in text


def test_only_the_combination_that_is_wrong_is_named_with_its_values(small):
    with pytest.raises(ScenarioError) as told:
        planned(small, "groups.0.count=3,-1", "avoidance.model=orca,hrvo,orcs")
    text = str(told.value)
    assert (
        "with groups.0.count=3, avoidance.model=orcs and in 1 more of 6 combinations" in text
        and 'Did you mean "orca"?' in text
    )
    assert "with groups.0.count=-1, avoidance.model=orca and in 2 more of 6 combinations" in text


def test_seeds_that_are_varied_twice_are_refused(small):
    with pytest.raises(CrowdsimError, match="the seed is varied twice"):
        planned(small, "seed=1,2", seeds=[1])


def test_the_command_of_a_run_names_all_that_it_needs(small):
    plan = planned(small, "groups.0.speed={normal: {mean: 1, sd: 0.1}}", seeds=[7], sets=("tick=0.05",))
    assert plan.command(plan.runs[0], record=False) == (
        f"crowdsim run {small} --set tick=0.05 --set 'groups.0.speed={{normal: {{mean: 1, sd: 0.1}}}}' "
        "--seed 7 --no-record"
    )


DESIGN = """
scenario: small.yaml
name: doors
set: {tick: 0.05, avoidance: hrvo}
seeds: "0:3"
grid: {groups.0.count: [2, 3], stop.when: [all_arrived, never]}
zip: {groups.0.radius: [0.2, 0.25], groups.0.speed: [1.2, {normal: {mean: 1.3, sd: 0.1}}]}
latin_hypercube:
  samples: 4
  seed: 1
  ranges: {avoidance.swerve: [0.2, 0.9], stop.after: {low: 10, high: 20, whole: true}}
csv: more.csv
"""


def test_a_sweep_file_multiplies_its_designs(small, tmp_path):
    (tmp_path / "more.csv").write_text("bodies.nudging\ntrue\nfalse\n")
    file = tmp_path / "sweep.yaml"
    file.write_text(DESIGN)
    design = read_design(file)
    assert is_design_file(file) and not is_design_file(small)
    assert (design.scenario, design.name, design.seeds, design.sets) == (
        small,
        "doors",
        (0, 1, 2),
        ("tick=0.05", "avoidance=hrvo"),
    )
    assert [len(part) for part in design.parts] == [4, 2, 4, 2]
    assert design.parts[0][1] == {"groups.0.count": "2", "stop.when": "never"}
    assert design.parts[1][1] == {
        "groups.0.radius": "0.25",
        "groups.0.speed": "{normal: {mean: 1.3, sd: 0.1}}",
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("grid: {a: [1]}", 'the key "scenario" is missing'),
        (
            "scenario: s.yaml\ngird: {a: [1]}",
            r'sweep.yaml:2:1: gird: there is no key "gird" here\n    Did you mean "grid"\?',
        ),
        ("scenario: s.yaml\ngrid: {a: 1}", r"grid.a: expects a list of values, found the number 1"),
        ("scenario: s.yaml\ngrid: [1]", r"grid: expects a mapping of keys, found a list of 1"),
        ("scenario: s.yaml\nzip: {a: [1], b: [1, 2]}", "a has 1, b has 2"),
        ("scenario: s.yaml\nsobol: {samples: 3, ranges: {a: [0, 1]}}", "take 2 or 4 samples"),
        ("scenario: s.yaml\nlatin_hypercube: {samples: 3, ranges: {a: [1, 0]}}", "low must be below high"),
        ("scenario: s.yaml\nlatin_hypercube: {samples: 3, ranges: {a: [x, y]}}", "expects a range"),
        ("scenario: s.yaml\nlatin_hypercube: {samples: 3}", 'the key "ranges" is missing'),
        (
            "scenario: s.yaml\nlatin_hypercube: {samples: many, ranges: {a: [0, 1]}}",
            "samples: expects a whole number",
        ),
        ("scenario: s.yaml\ncsv: ../elsewhere.csv", "lies outside"),
        ("scenario: s.yaml\nseeds: [1, x]", "0:10, which is 0 to 9"),
    ],
)
def test_a_mistake_in_a_sweep_file_is_told_with_its_place(tmp_path, text, message):
    file = tmp_path / "sweep.yaml"
    file.write_text(text)
    with pytest.raises(ScenarioError, match=message):
        read_design(file)
