"""The page about measures: its commands and its snippet run, and its lists are those of the package."""

from __future__ import annotations

import importlib
import inspect
import re
import shlex
import sys

import pytest

from crowdsim import measures
from tests.cli.command import crowdsim
from tests.crowds import ROOT, SCENARIOS

PAGE = (ROOT / "docs" / "guides" / "measures.md").read_text(encoding="utf-8")
COMMANDS = [
    shlex.split(line[2:])
    for block in re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)
    for line in block.splitlines()
    if line.startswith("$ ")
]
SNIPPET = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[0]


def test_the_commands_and_the_snippet_run_and_say_what_the_page_says(tmp_path, monkeypatch, capsys):
    (tmp_path / "scenarios").symlink_to(SCENARIOS)
    (tmp_path / "runs").mkdir()
    shown = ""
    for command in (command for command in COMMANDS if command[0] == "crowdsim"):
        done = crowdsim(command[1:], cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, ""), command
        shown += done.stdout
    # The last digits are another machine's where clocks decide nothing: all of them are the same.
    for line in shown.splitlines():
        assert line in PAGE, line
    monkeypatch.chdir(tmp_path)
    exec(SNIPPET, {})
    assert f"{float(capsys.readouterr().out.split()[2]):.2f}" == "3.05"


STUDIES = {
    "avoidance_comparison": (
        "--models orca --densities 0.1 --seeds 1",
        "comparison.png",
        "orca            0.1       6  100.0 %   1.0",
    ),
    "fundamental_diagram": (
        "--models orca --densities 0.2 --laws weidmann",
        "diagram.png",
        "orca           weidmann ",
    ),
    "evacuation_curves": ("{run}", "", "6 left by"),
}


@pytest.mark.full
def test_every_study_of_the_page_prints_its_table_and_draws_its_picture(tmp_path, monkeypatch, capsys):
    assert set(re.findall(r"analysis/(\w+)\.py", PAGE)) == set(STUDIES)
    sys.path.insert(0, str(ROOT / "analysis"))
    study = importlib.import_module("avoidance_comparison")
    study.run("orca", 0.1, 1, tmp_path)
    for name, (options, picture, line) in STUDIES.items():
        out = tmp_path / name if picture else tmp_path / "curves.png"
        monkeypatch.setattr(
            sys, "argv", [name, *options.format(run=tmp_path / "orca-0.1-1.h5").split(), "--out", str(out)]
        )
        importlib.import_module(name).main()
        assert line in capsys.readouterr().out, name
        assert (out / picture).read_bytes().startswith(b"\x89PNG"), name
    sys.path.remove(str(ROOT / "analysis"))


def test_every_function_of_the_package_is_on_the_page_and_says_what_it_returns():
    for name in measures.__all__:
        thing = getattr(measures, name)
        assert inspect.getdoc(thing), name
        if inspect.isfunction(thing):
            assert f"`{name}`" in PAGE or f".{name}(" in PAGE, name
            assert "Returns" in thing.__doc__ or len(thing.__doc__.splitlines()) < 8, name
