"""The verbs that need only scenarios: schema, parameters, list, new."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import IO

import pytest

from crowdsim.cli import main
from crowdsim.errors import CrowdsimError, ExitCode
from crowdsim.scenario.load import load_scenario
from crowdsim.scenario.model import Scenario
from crowdsim.scenario.templates import TEMPLATES, template_text
from crowdsim.setup.agents import resolve_agents
from tests.scenario.worlds import SMALL


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as caught:
        main(list(arguments))
    printed = capsys.readouterr()
    return int(caught.value.code or 0), printed.out, printed.err


def test_schema_prints_json(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "schema")
    assert code == 0
    assert json.loads(out)["title"] == "crowdsim scenario, version 1"


def test_parameters_shows_default_unit_range_reason_and_source(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "parameters")
    assert code == 0
    assert out.splitlines()[:4] == [
        "avoidance.orca.neighbour_count = 10, in [0, 64]",
        "    The ten nearest surround a walker. Source: RVO2.",
        "avoidance.orca.time_horizon = 2 s, in (0, 60]",
        "    How long a velocity is to stay clear of others.",
    ]
    assert "navigation.mesh.share_searches = true, in true | false" in out
    assert "symmetry.side = right, in left | right | random" in out


def test_parameters_can_be_limited_and_printed_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "parameters", "bodies", "--json")
    assert code == 0
    assert json.loads(out) == [
        {
            "name": "bodies.passes",
            "default": 3,
            "unit": "",
            "range": "[0, 100]",
            "why": "enough for a walking crowd",
            "source": "[Pathfinding undated], section 8",
        }
    ]


def test_parameters_that_are_unknown_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "parameters", "avoidanc.orca")
    assert code == 2
    assert (
        err
        == 'No tunable number has a name that begins with "avoidanc.orca". Did you mean "avoidance.orca"?\n'
    )
    assert json.loads(run(capsys, "parameters", "x", "--json")[1])["ok"] is False


@pytest.mark.parametrize("name", TEMPLATES)
def test_new_writes_a_scenario_that_works(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "my own.yaml"
    code, out, _ = run(capsys, "new", str(path), "--template", name)
    assert code == 0
    assert f"crowdsim run '{path}'" in out  # as a shell takes it
    scenario = load_scenario(path)
    assert scenario.name == "my own"
    assert scenario.description
    assert scenario.notes == ()
    assert len(resolve_agents(scenario)) == scenario.agent_count > 0
    assert path.read_text().startswith("# ")


def test_new_lists_the_templates_and_each_is_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "new")
    assert [line.split()[0] for line in out.splitlines()] == list(TEMPLATES)
    folder = Path(__file__).resolve().parents[2] / "crowdsim" / "scenario" / "templates"
    assert sorted(path.stem for path in folder.glob("*.yaml")) == sorted(TEMPLATES)


def test_new_never_overwrites(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("mine")
    code, _, err = run(capsys, "new", str(path))
    assert code == 2
    assert err == f'"{path}" exists already and is not overwritten. Choose another name.\n'
    assert path.read_text() == "mine"
    (tmp_path / "dangling.yaml").symlink_to(tmp_path / "elsewhere.yaml")
    assert run(capsys, "new", str(tmp_path / "dangling.yaml"))[0] == 2
    assert not (tmp_path / "elsewhere.yaml").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["x.txt"], '"x.txt" does not end in .yaml. Write for example "x.yaml".'),
        (
            ["x.yaml", "-t", "bottelneck"],
            (
                'There is no template "bottelneck". Did you mean "bottleneck"? Known are bottleneck, '
                "corridor, evacuation, circle."
            ),
        ),
        (
            ["x.yaml", "-t", "zoo"],
            'There is no template "zoo". Known are bottleneck, corridor, evacuation, circle.',
        ),
        (
            ["no/such/folder/x.yaml"],
            'There is no folder "no/such/folder" to write "x.yaml" into. Make it first.',
        ),
    ],
)
def test_new_says_what_is_wrong(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(capsys, "new", *arguments) == (2, "", message + "\n")
    assert list(tmp_path.iterdir()) == []


def test_new_makes_a_scenario_of_a_plan_and_replaces_it_only_if_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("hall.wkt").write_text("POLYGON ((0 0, 10 0, 10 8, 0 8, 0 0))")
    code, out, err = run(capsys, "new", "--plan", "hall.wkt", "--exit", "10,4", "--people", "7")
    assert (code, err) == (0, "") and out.endswith(
        "hall.yaml written, with its ground in hall-ground.wkt and hall-start.wkt. Run it with: crowdsim "
        "run hall.yaml\n"
    )
    assert load_scenario(Path("hall.yaml")).agent_count == 7
    code, _, err = run(capsys, "run", "hall.wkt")
    assert (code, err) == (
        2,
        (
            "hall.wkt: this is a floor plan, not a scenario\n"
            "    Make a scenario of it: crowdsim new --plan hall.wkt --run\n"
        ),
    )
    code, _, err = run(capsys, "new", "--plan", "hall.wkt")
    assert (code, err) == (
        2,
        '"hall.yaml" exists already and is not overwritten. Choose another name, or use --force.\n',
    )
    assert (
        run(capsys, "new", "--plan", "hall.wkt", "--people", "9", "--force")[0] == 0
        and load_scenario(Path("hall.yaml")).agent_count == 9
    )
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    really = os.fdopen

    def full(descriptor: int, mode: str = "r", **options: str) -> IO[str]:
        if mode == "w":
            os.close(descriptor)
            raise OSError(28, "No space left on device")
        return really(descriptor, mode, **options)  # type: ignore[call-overload, no-any-return]

    monkeypatch.setattr("crowdsim.cli.new.os.fdopen", full)
    code, _, err = run(capsys, "new", "--plan", "hall.wkt", "--people", "5", "--force")
    assert (code, err) == (2, '"hall.yaml" cannot be written: No space left on device.\n')
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["x.yaml", "--people", "3", "--run"],
            "--run and --people are about a floor plan. Name it with --plan PLAN.",
        ),
        (
            ["x.yaml", "--plan", "p.wkt", "-t", "circle"],
            "--template and --plan are both what to start from. Give one of them.",
        ),
        (
            ["--plan", "p.wkt", "--exit", "3"],
            '--exit is "3", but must be X,Y in metres: for example --exit 12.5,3.',
        ),
        (
            ["--plan", "p.wkt", "--unit", "ell"],
            '--unit is "ell", but must be one of mm, cm, dm, m, km, in, ft, yd.',
        ),
        (
            ["--plan", "p.wkt", "--layer", "wall=A"],
            (
                '--layer is "wall=A", but must be KIND=NAME, where KIND is one of ground, walls, obstacles, '
                "doors, exits, starts, nothing: for example walls=A-WALL."
            ),
        ),
        (["--plan", "p.wkt"], "p.wkt: there is no such file."),
    ],
)
def test_new_says_what_is_wrong_about_a_plan(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(capsys, "new", *arguments) == (2, "", message + "\n")
    assert list(tmp_path.iterdir()) == []


def test_list_shows_good_and_broken_scenarios(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "b.yaml").write_text(SMALL)
    (tmp_path / "a.yml").write_text(template_text("corridor"))
    (tmp_path / "broken.yaml").write_text("version: 1\ntik: 1\n")
    (tmp_path / "dangling.yaml").symlink_to("nowhere")
    (tmp_path / "other.txt").write_text("not a scenario")
    (tmp_path / "sweep.yaml").write_text("scenario: b.yaml\nseeds: [1, 2]\n")
    code, out, err = run(capsys, "list", str(tmp_path))
    assert code == ExitCode.USAGE
    assert err == (
        f"2 files of 5 cannot be used; all that is wrong: crowdsim validate {tmp_path / 'broken.yaml'}\n"
    )
    assert [line.split(maxsplit=3) for line in out.splitlines()] == [
        ["file", "agents", "seconds", "about"],
        ["a.yml", "54", "120", "Counterflow in a corridor of 38 m x 3 m; lanes should form."],
        ["b.yaml", "26", "60", "A room with a table, a door and a seat."],
        ["broken.yaml", "-", "-", '3 problems: line 1: the key "geometry" is missing'],
        ["dangling.yaml", "-", "-", "1 problem: there is no such file"],
        ["sweep.yaml", "-", "-", "a sweep of b.yaml"],
    ]
    code, out, err = run(capsys, "list", str(tmp_path), "--json")
    assert (code, err) == (ExitCode.USAGE, "")
    rows = json.loads(out)
    assert [(row["file"], row["name"], row["problems"]) for row in rows] == [
        ("a.yml", "a", 0),
        ("b.yaml", "small", 0),
        ("broken.yaml", None, 3),
        ("dangling.yaml", None, 1),
        ("sweep.yaml", "sweep", 0),
    ]
    for name in ("broken", "dangling"):
        (tmp_path / f"{name}.yaml").unlink()
    assert run(capsys, "list", str(tmp_path))[::2] == (0, "")


@pytest.mark.parametrize("error", [CrowdsimError("no plug-in"), OSError(5, "no plug-in"), MemoryError()])
def test_list_goes_on_after_a_file_that_fails_in_any_manner(
    error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in "abc":
        (tmp_path / f"{name}.yaml").write_text(SMALL)

    def load(path: Path) -> Scenario:
        if path.name == "b.yaml":
            raise error
        return load_scenario(path)

    monkeypatch.setattr("crowdsim.scenario.load.load_scenario", load)
    code, out, _ = run(capsys, "list", str(tmp_path))
    assert code == ExitCode.USAGE
    assert [line.split()[0] for line in out.splitlines()] == ["file", "a.yaml", "b.yaml", "c.yaml"]
    assert "1 problem: " in out.splitlines()[2]


def test_list_without_scenarios_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(capsys, "list") == (2, "", 'There is no folder "scenarios". Name one: crowdsim list FOLDER.\n')
    (tmp_path / "scenarios").mkdir()
    code, _, err = run(capsys, "list")
    assert code == 2
    assert "has no scenarios (*.yaml, *.yml). To write one: crowdsim new scenarios/my_scenario.yaml" in err
