"""`crowdsim models`: the list, the table of one scene under several models, and what it says where something is wrong."""

import json

from tests.cli.command import crowdsim
from tests.crowds import ROOT, SCENARIOS

EXAMPLE = ROOT / "docs" / "examples" / "polite.py"
SHORT = ["--set", "stop.after=20"]


def test_without_a_scenario_the_models_are_listed():
    done = crowdsim(["models", "--plugin", EXAMPLE])
    lines = {line.split()[0]: line for line in done.stdout.splitlines()[1:]}
    assert {"none", "orca", "polite"} <= set(lines) and str(EXAMPLE) in lines["polite"] and "crowdsim" in lines["orca"]
    listed = {row["name"]: row for row in json.loads(crowdsim(["models", "--json"]).stdout)}
    assert listed["orca"]["origin"] == "crowdsim" and listed["orca"]["about"]


def test_a_scene_under_several_models_a_plug_in_among_them():
    three_passes = ["--set", "bodies.further_passes=0"]  # further ones would part even those who do not avoid each other
    done = crowdsim(["models", SCENARIOS / "antipodal-circle.yaml", "--models", "orca,none,polite", "--plugin", EXAMPLE, *SHORT, *three_passes, "--json"])
    assert done.returncode == 0, done.stderr
    rows = {row["model"]: row for row in json.loads(done.stdout)}
    assert list(rows) == ["orca", "none", "polite"]
    assert rows["orca"]["arrived"] == 24 and 1.0 <= rows["orca"]["time_over_ideal"] < 2.0 and rows["orca"]["stuck_agent_s"] == 0.0
    assert rows["none"]["deepest_overlap_m"] > 0.05 > rows["orca"]["deepest_overlap_m"]
    assert all(row["us_per_agent_tick"] > 0.0 and row["failed"] == "" for row in rows.values())


def test_the_table_puts_seeds_together_and_is_markdown_on_demand():
    done = crowdsim(["models", SCENARIOS / "antipodal-circle.yaml", "-m", "orca", "--seeds", "1,2", "--markdown", *SHORT])
    header, rule, row = done.stdout.strip().splitlines()
    assert header.startswith("| scene | model | arrived |") and set(rule) <= set("| -:") and row.startswith("| antipodal-circle | orca | 48 of 48 |")


def test_a_group_with_a_model_of_its_own_keeps_it_and_this_is_noted(tmp_path):
    text = (SCENARIOS / "head-on-corridor.yaml").read_text().replace("name: eastbound,", "name: eastbound, avoidance: none,")
    (tmp_path / "own.yaml").write_text(text)
    done = crowdsim(["models", tmp_path / "own.yaml", "-m", "orca,none", "--set", "stop.after=2"])
    assert done.returncode == 0 and done.stderr.count("eastbound keeps a model of its own") == 1


def test_a_model_that_breaks_a_promise_does_not_end_the_comparison(tmp_path):
    (tmp_path / "bad.py").write_text(EXAMPLE.read_text().replace("wish * share", "wish * share * 9").replace('"polite"', '"hasty"'))
    done = crowdsim(["models", SCENARIOS / "antipodal-circle.yaml", "-m", "hasty,orca", "--plugin", tmp_path / "bad.py", *SHORT])
    assert done.returncode == 2 and "antipodal-circle, hasty, seed 1: tick 1, agent #0: " in done.stderr and "24 of 24" in done.stdout


def test_mistakes_are_told_before_anything_runs():
    for options, said in ((["-m", "orca,orcha"], "orcha"), (["--seeds", "1,x"], "--seeds takes whole numbers"), (["--set", "tick=7"], "tick")):
        done = crowdsim(["models", SCENARIOS / "antipodal-circle.yaml", *options])
        assert done.returncode == 2 and said in done.stderr and done.stdout == "" and "Traceback" not in done.stderr
