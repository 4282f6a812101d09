"""The page about recordings: its commands and snippets run, and its lists are those of a real file."""

from __future__ import annotations

import json
import re
import shlex
from fractions import Fraction

import h5py
import numpy as np
import pytest

from crowdsim.codes import Diagnosis, PathStatus
from crowdsim.recording import schema, writer
from crowdsim.world import events
from tests.cli.command import crowdsim
from tests.crowds import ROOT, SCENARIOS

PAGE = (ROOT / "docs" / "reference" / "recordings.md").read_text(encoding="utf-8")
SNIPPETS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
COMMANDS = [
    line[2:] for block in re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()
]


def rows_of(mark):
    """Return the cells of the table after a mark, by the name in the first cell."""
    lines = PAGE.split(f"<!-- {mark} -->\n")[1].split("\n\n")[0].splitlines()[2:]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {row[0].strip("`"): row[1:] for row in rows}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The folder of a reader of the page, after its commands; a traced run beside it."""
    folder = tmp_path_factory.mktemp("reader")
    (folder / "scenarios").symlink_to(SCENARIOS)
    (folder / "runs").mkdir()
    for command in COMMANDS:
        name, *arguments = shlex.split(command)
        assert name == "crowdsim"
        done = crowdsim(arguments, cwd=folder)
        assert (done.returncode, done.stderr) == (6 if "--tolerance" in arguments else 0, ""), (
            command,
            done.stdout,
        )
    assert (
        crowdsim(
            [
                "run",
                "scenarios/bottleneck.yaml",
                "--set",
                "stop.after=1",
                "--set",
                "record.explain=[crowd]",
                "--trace",
                "-q",
                "-o",
                "runs/traced.h5",
            ],
            cwd=folder,
        ).returncode
        == 3
    )
    return folder


def test_the_page_has_commands_and_a_snippet_for_each_reader():
    verbs = {shlex.split(command)[1] for command in COMMANDS}
    assert verbs == {"run", "info", "export", "verify", "compare", "cut"}
    assert [re.search(r"^import (\w+)", snippet, re.MULTILINE)[1] for snippet in SNIPPETS] == [
        "crowdsim",
        "pedpy",
        "h5py",
    ]


@pytest.mark.sample(1)
@pytest.mark.parametrize("number", range(len(SNIPPETS)))
def test_every_snippet_runs(folder, number, monkeypatch):
    snippet = SNIPPETS[number]
    for module in re.findall(r"^import (\w+)", snippet, re.MULTILINE):
        pytest.importorskip(module)
    checks = (
        (
            "assert len(places) == run.commit.rows > len(some) and len(arrivals) == 100 and "
            "per_group.to_dict() == {'crowd': 100} and len(timings) == len(ticks)"
        ),
        "assert 100 < ground.area < 120 and 0.1 < speed['speed'].mean() < 2",
        (
            "assert unit == 'm/s' and fps == 10.0 and plan.startswith('POLYGON') and (tenth['frame'] == "
            "10).all() and 0 < table['speed'].max() < 3"
        ),
    )
    monkeypatch.chdir(folder)
    exec(f"{snippet}\n{checks[number]}", {"__name__": "__main__"})


def type_in_words(dtype, width):
    """Return a type as the page writes it: runs of fields of one type together."""
    if dtype.names is None:
        return f"{width} {dtype.name}" if width else dtype.name
    groups = []
    for name in dtype.names:
        kind = dtype[name].name
        if groups and groups[-1][1] == kind:
            groups[-1][0].append(name)
        else:
            groups.append(([name], kind))
    return "; ".join(f"{', '.join(names)} {kind}" for names, kind in groups)


def unit_in_words(text):
    """Return the attribute `unit` as the page writes it: runs of fields of one unit together."""
    if not text.startswith("{"):
        return text
    groups = []
    for name, unit in json.loads(text).items():
        if groups and groups[-1][1] == unit:
            groups[-1][0].append(name)
        else:
            groups.append(([name], unit))
    return "; ".join(f"{', '.join(names)}: {unit}" for names, unit in groups if unit)


def test_the_list_of_datasets_is_that_of_a_real_file(folder):
    listed = rows_of("datasets")
    found = {}
    for path in ("runs/traced.h5", "runs/bottleneck.h5"):
        with h5py.File(folder / path) as file:
            file.visititems(
                lambda name, item: (
                    found.update({name: (item.dtype, item.shape, dict(item.attrs))})
                    if isinstance(item, h5py.Dataset)
                    else None
                )
            )
    assert set(listed) == set(found)
    for name, (dtype, shape, attributes) in found.items():
        _, kind, unit, rounded, about = listed[name]
        if name == "ticks":
            assert kind == "tick int64; a float64 for each count" and dtype.names[0] == "tick"
            assert {dtype[count] for count in dtype.names[1:]} == {np.dtype("float64")}
            assert {count: unit for count, unit in json.loads(attributes["unit"]).items() if unit} == {
                "tick": "tick"
            }
            continue
        width = shape[1] if len(shape) > 1 else 0
        if "columns" in attributes:
            assert len(json.loads(attributes["columns"])) == width and kind.startswith(
                f"{dtype.name} for each"
            )
        else:
            assert kind == type_in_words(dtype, width), name
        assert unit == unit_in_words(attributes.get("unit", "")), name
        resolution = attributes.get("resolution", 0.0)
        assert (float(Fraction(rounded)) if rounded else 0.0) == resolution, name
        assert about, name
    with h5py.File(folder / "runs/bottleneck.h5") as file:
        assert "trace" not in file
    with h5py.File(folder / "runs/traced.h5") as file:
        assert {
            file[f"agents/{name}"].dtype.name for name in ("velocity", "preferred_velocity", "next_corner")
        } == {"float64"}
        assert not any("resolution" in item.attrs for item in file["agents"].values())


def test_the_list_of_events_is_that_of_the_program_and_of_the_format():
    listed = {name: int(row[0]) for name, row in rows_of("events").items()}
    assert (
        listed
        == {kind.name: kind.value for kind in events.EventKind}
        == {kind.name: kind.value for kind in schema.EventKind}
    )


@pytest.mark.parametrize(
    ("column", "codes", "first"),
    [("agents/path_status", PathStatus, "none"), ("agents/diagnosis", Diagnosis, "not asked")],
)
def test_the_numbers_of_a_column_are_listed_with_the_names_that_the_program_has(column, codes, first):
    (line,) = [line for line in PAGE.splitlines() if line.startswith(f"| `{column}` |")]
    listed = {
        int(number): name.strip() for number, name in re.findall(r"(\d) ([a-z ]+)", line.rsplit(": ", 1)[1])
    }
    assert listed == {int(code): code.name.lower().replace("_", " ") if code else first for code in codes}


def test_the_numbers_of_the_promises_are_those_of_the_writer():
    assert writer.FLUSH_SECONDS == 2.0 and "at most two seconds" in PAGE
    assert f"as {writer.BLOCK_BYTES // 2**20} MiB of them wait" in PAGE
