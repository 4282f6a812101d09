"""The list of needed kernels: what runs call is in it, it is read as it is written,
and several processes make what it names.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from numba import types

from crowdsim import build_kernels
from crowdsim.kernels import decorator as kernels
from crowdsim.kernels.needed import Needed, needed_by, ready, shared_out, the_list, type_of, type_text
from tests.cli.command import environment
from tests.crowds import ROOT

CALLED = """
import json, sys, tempfile
from pathlib import Path
from crowdsim.build_kernels import _in_another_process
from crowdsim.kernels.needed import needed_by, ready
from crowdsim.simulation.warm import all_scenes

KINDS = [each for scene in all_scenes() for each in scene.needs if each.startswith("navigation=")]

for scene in all_scenes():
    if json.dumps(scene.needs + (scene.explaining,)) in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as folder:
            called, _ = _in_another_process(scene, Path(folder))
        # scenarios with what such a scene shows have a model and a kind of navigation, too
        usual = () if scene.needs[0].startswith("avoidance=") else ("avoidance=orca", *(scene.sets or KINDS))
        listed = {(kernel.name, ready(kernel)[1]) for kernel in needed_by((*scene.needs, *usual))}
        unlisted = [name for name, args in (called or {}).values() if (name, args) not in listed]
        print(json.dumps([scene.needs, unlisted]))
"""


def scenes() -> list[str]:
    from crowdsim.simulation.warm import all_scenes

    return [json.dumps((*scene.needs, scene.explaining)) for scene in all_scenes()]


def missing(names: list[str]) -> list[Any]:
    """Return for each scene what it calls that is not in the list."""
    done = subprocess.run(
        [sys.executable, "-c", CALLED, *names],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=1200,
    )
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) == len(names)
    return [(needs, late) for needs, late in found if late]


def test_the_list_names_what_a_run_calls():
    assert missing(scenes()[:1]) == [], "make the list anew: python -m crowdsim.build_kernels --list"


@pytest.mark.full
def test_the_list_names_what_every_scene_calls_and_nothing_that_is_gone():
    assert missing(scenes()) == [], "make the list anew: python -m crowdsim.build_kernels --list"
    assert [kernel.name for kernel in the_list().kernels if ready(kernel) is None] == []


def test_what_the_list_names_is_there():
    wanted = needed_by(["avoidance=orca"])
    assert len(wanted) > 20
    assert [kernel.name for kernel in wanted if ready(kernel) is None] == []


def test_types_are_read_as_they_were_written():
    from crowdsim.geometry.walls import Walls

    fixed = types.Array(types.float64, 1, "C", readonly=True)
    other = types.Array(types.uint8, 2, "A", aligned=False)
    named = types.NamedTuple([other, *[fixed] * (len(Walls._fields) - 1)], Walls)
    kinds = [
        types.int64,
        types.boolean,
        types.none,
        types.float32,
        fixed,
        other,
        types.Tuple([types.int64, fixed]),
        types.UniTuple(types.float64, 3),
        named,
    ]
    kinds.append(
        types.Array(numba.from_dtype(np.dtype([("order", "int64"), ("x", "float32")])), 1, "C", aligned=False)
    )
    tuples: dict[str, list[str]] = {}
    for kind in kinds:
        text = type_text(kind, tuples)
        assert type_of(text, json.loads(json.dumps(tuples))) == kind
    twice = types.NamedUniTuple(types.Array(types.int32, 1, "C"), len(Walls._fields), Walls)
    assert type_text(twice, tuples) != type_text(named, tuples)
    assert type_of(type_text(twice, tuples), tuples) == twice
    with pytest.raises(ValueError, match="cannot be written"):
        type_text(types.unicode_type, tuples)
    with pytest.raises(ValueError, match="cannot be written"):
        type_text(
            types.Array(numba.from_dtype(np.dtype([("flag", "int8"), ("x", "float64")], align=True)), 1, "C"),
            tuples,
        )
    with pytest.raises(ValueError, match="cannot be written"):
        type_text(types.Tuple([types.int64, types.UniTuple(types.float64, 3)]), tuples)


def test_each_choice_needs_what_is_called_with_it_and_not_what_the_others_beside_it_call():
    both = frozenset({"move"})
    called = [
        (("orca", "mesh"), both | {"planes", "search"}),
        (("orca", "grid"), both | {"planes", "cells"}),
        (("hrvo", "mesh"), both | {"cones", "search"}),
        (("orca", "mesh", "law"), both | {"planes", "search", "slow"}),
        (("floors, mesh",), both | {"planes", "search", "height"}),
        (("free ground",), both | {"planes", "search", "straight"}),
    ]
    needed = build_kernels.needs_of([(names, frozenset(what)) for names, what in called])
    assert needed["mesh"] == both | {"search"} and needed["grid"] == both | {"cells"}
    assert needed["orca"] == both | {"planes"} and needed["hrvo"] == both | {"cones"}
    assert needed["law"] == {"slow"} and needed["free ground"] == {"straight"}
    assert "height" in needed["floors, mesh"] and "planes" not in needed["floors, mesh"]


def test_work_is_shared_out_so_that_all_end_together_and_nobody_makes_the_same_parts(monkeypatch):
    sizes = [100, 100, 1, 1, 1, 1]
    monkeypatch.setattr(
        "crowdsim.kernels.needed.the_list", lambda: the_list.__wrapped__()._replace(sizes=sizes)
    )
    wanted = [Needed(f"m.{k}", (), (k % 2, 2 + k % 4)) for k in range(8)]
    lists = shared_out(wanted, 2)
    assert sorted(each for own in lists for each in own) == sorted(wanted)
    assert [{kernel.parts[0] for kernel in own} for own in lists] == [{0}, {1}]
    assert shared_out(wanted, 1) == [
        sorted(wanted, key=lambda each: -sum(sizes[part] for part in each.parts))
    ]


PROGRAM = """
import os, sys
from crowdsim.kernels import decorator as kernels
from crowdsim.kernels import ahead
from crowdsim.kernels import needed
names = [f"walkers.many.outer{k}" for k in range(COUNT)]
own, told = [], []
kernels.on_compile(own.append)
kernels.on_progress(lambda done, total: told.append((done, total)))
names += ["walkers.many.gone", "walkers.nowhere.outer"]
wanted = [needed.Needed(name, ("float64",), (0,)) for name in names]
needed.the_list.cache_clear()
needed.FILE = needed.FILE.with_name("there is none")
known = needed.the_list()
known.sizes.append(1)
count = ahead.make_ready(wanted)
import walkers.many as many
values = [getattr(many, f"outer{k}")(1.0) for k in range(COUNT)]
begun = (told[0][0] and 1, told[0][1])
is_right = values == [k + 1.0 for k in range(COUNT)]
print(count, len(set(own)), len(own), begun, told[-1][0] <= told[-1][1], is_right)
"""


@pytest.mark.sample(1)
@pytest.mark.parametrize("processes", [1, 2])
def test_several_processes_compile_and_one_that_comes_later_loads(tmp_path: Path, processes: int):
    count = 8
    folder = tmp_path / "code" / "walkers"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    one = (
        "@kernel\ndef outer{0}(x):\n    s = 0.0\n    for i in range({0}):\n        s += x\n"
        "    return s + 1.0\n"
    )
    (folder / "many.py").write_text(
        "from crowdsim.kernels.decorator import kernel\n" + "".join(one.format(k) for k in range(count))
    )
    own = {
        **environment(),
        "PYTHONPATH": f"{tmp_path / 'code'}:{ROOT}",
        "CROWDSIM_CACHE_DIR": str(tmp_path / "cache"),
        "CROWDSIM_COMPILE_PROCESSES": str(processes),
    }

    def run() -> list[str]:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM.replace("COUNT", str(count))],
            env=own,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    first = run()
    assert first[0] == str(count) and first[1] == first[2], "each is compiled once at most by a process"
    assert first[3:] == ["(1,", f"{count})", "True", "True"]
    if processes == 1:
        assert int(first[1]) == count
    assert len(list((tmp_path / "cache").rglob("*.nbc"))) == count


def test_progress_says_how_many_of_how_many(monkeypatch, capsys):
    from crowdsim.cli.progress import Progress
    from crowdsim.navigation.planning import find_landmarks

    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with Progress() as progress:
        progress.watch_first_run()
        for done in range(3):
            kernels.tell_progress(done, 2)
        for tell in find_landmarks._listeners:
            tell(2, 32)
    shown = [state.strip() for state in capsys.readouterr().err.split("\r") if state.strip()]
    assert shown == [
        "compiling, first run only: 1 of 2",
        "compiling, first run only: 2 of 2",
        "compiling, first run only: 2 of 2",
        "looking for landmarks, first run only: 2 of 32",
    ]
    kernels.tell_progress(1, 2)
    assert not find_landmarks._listeners
    assert capsys.readouterr().err == ""
