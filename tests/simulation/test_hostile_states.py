"""A checkpoint whose checksum is right and whose state is not: it is refused in one sentence, or runs on to
an orderly end; nothing crashes, hangs, or ends in a traceback. What every array may hold is said where it is
taken back, so that a system which is added later cannot forget it (`crowdsim.saved`)."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import os
import re
import selectors
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crowdsim.navigation.corridor.corner_cache import NOT_CACHED
from crowdsim.saved import Saved, SavedError, ascends, fields_of
from crowdsim.simulation.simulation import Simulation
from crowdsim.world.events import NOT_DIAGNOSED
from tests.crowds import ROOT
from tests.simulation.hostile_states import SCENES, outcome, prepared

# Without a word for so long, a state hangs; the slowest take a second of a processor that nobody else uses.
PATIENCE_S = 300.0
MOST_MEGABYTES = 2000


def try_states(first: int, count: int, folder: Path) -> Counter[str]:
    """Take changed states up, in a process that is started again after one that kills it;
    return what came of them, faults told in full.
    """
    found: Counter[str] = Counter()
    while count:
        done = _try_until_it_dies(first, count, folder, found)
        first, count = first + done, count - done
    return found


def _try_until_it_dies(first: int, count: int, folder: Path, found: Counter[str]) -> int:
    """Return how many were tried."""
    command = [
        sys.executable,
        "-W",
        "ignore",
        "-m",
        "tests.simulation.hostile_states",
        str(first),
        str(count),
        str(folder),
    ]
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert process.stdout is not None
    done, now, text = 0, "", b""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while selector.select(PATIENCE_S):
            data = os.read(process.stdout.fileno(), 1 << 16)
            if not data:
                break
            text += data
            *lines, text = text.split(b"\n")
            for line in lines:
                word, _, rest = line.decode().partition(" ")
                if word == "try":
                    now = rest
                elif word == "done":
                    done += 1
                    found[rest if not rest.startswith("fault") else f"fault: {now}: {rest}"] += 1
                elif word == "memory":
                    found[f"fault: it took {rest} MB"] += int(rest) > MOST_MEGABYTES
        else:
            process.kill()
            found[f"fault: {now}: hangs"] += 1
    _, error = process.communicate()
    if process.returncode:
        found[f"fault: {now}: ended with {process.returncode}: {error.decode()[-1500:]}"] += 1
        done += 1
    assert done or process.returncode, error.decode()
    return min(done, count)


@pytest.mark.parametrize(
    "count", [12, *(pytest.param(count, marks=pytest.mark.full) for count in (52, 10_000))]
)
def test_a_state_that_was_changed_is_refused_or_runs_on(tmp_path: Path, count: int) -> None:
    found = try_states(0, count, tmp_path)
    assert [text for text, number in found.items() if text.startswith("fault") and number] == []
    assert (
        found["refused"] + found["ran"] == count
        and found["refused"] >= count / 2
        and found["ran"] >= count // 10
    )


@pytest.mark.parametrize("waypoint", [-1, 9])
def test_an_agent_comes_to_a_waypoint_on_its_part_of_the_line(waypoint: int, tmp_path: Path) -> None:
    """One that is beyond was walked to, until there was no waypoint any more."""
    scenario, begun = prepared("waypaths")
    name = "world/agents/waypoint_next"
    is_on = ~np.isnan(begun.state["world/agents/waypath_aim"])
    assert is_on.any() and np.all(begun.state[name][is_on] >= 0)
    assert outcome(begun, scenario, tmp_path) == "ran"
    state = {**begun.state, name: np.where(is_on, np.int32(waypoint), begun.state[name]).astype(np.int32)}
    assert outcome(dataclasses.replace(begun, state=state), scenario, tmp_path) == "refused"


# Numbers that are no index of anything, and may be whatever they are.
WITHOUT_RANGE = (
    "systems/Record/fold",
    "systems/Record/last",  # digests
    "world/agents/key",  # at random; of agents, what they came into the world with
    "world/corridors/cells",  # of blocks that are free; those in use are looked at as paths
    "world/tiles/flags",
    "world/tiles/areas",  # bits that mean what users want
    "systems/BreakSymmetry/breaker/blocked",
    "systems/BreakSymmetry/breaker/pressed",
    "systems/BreakSymmetry/breaker/stalled",
    "systems/BreakSymmetry/breaker/turning",
    "systems/BreakSymmetry/breaker/retreating",
    "systems/BreakSymmetry/breaker/events",  # counts of ticks
    "world/agents/heard",
    "world/outside/heard",  # a bit for each signal
)
COUNTS = (  # that can be as large as their type holds
    "stage", "neighbour_count", "samples", "strays", "blocked_ticks", "waited_ticks", "nudges", "replans",
    "setbacks", "regaining", "draws",
    "step", "partner",  # actions to which they mean something look at them; one that is not there is nobody
)  # fmt: skip


def worst(name: str, array: np.ndarray) -> list[Any]:
    """Return what no array of this kind may hold, one value each; nothing for truths."""
    if array.dtype.kind == "f":
        return [np.nan, -np.inf, 1e300 if array.dtype.itemsize == 8 else -1e38]
    if array.dtype.kind not in "iu" or not array.size:
        return []
    info = np.iinfo(array.dtype)
    most = [] if name.rpartition("/")[2] in COUNTS else [info.max]
    return most if array.dtype.kind == "u" else [info.min, *most]


HOW = (
    "These were believed as they came. The keeper of an array takes it back in `restore` from a `Saved` "
    "with low= and high= (an agent's column: `within` in "
    "AGENT_COLUMNS; what the ground decides: crowdsim/world/checks.py), see crowdsim/saved.py. What may "
    "really hold any number goes into WITHOUT_RANGE or COUNTS."
)


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", sorted(SCENES))
def test_every_array_of_every_state_is_looked_at(name: str) -> None:
    """Whatever keeps a state: none of its arrays can be missing, be of another type or shape,
    hold what no number can be, and there is none besides.
    """
    scenario, begun = prepared(name)
    believed = []
    with Simulation(scenario) as run:

        def refusal(array_name: str, changed: np.ndarray | None) -> str:
            state = {**begun.state}
            del state[array_name]
            if changed is not None:
                state[array_name] = changed
            try:
                run.restore(state)
            except SavedError as error:
                assert "\n" not in str(error), (array_name, str(error))
                return str(error)
            except Exception as error:
                return pytest.fail(f"{array_name}: {error!r} instead of a SavedError. {HOW}")
            return ""

        for array_name, array in begun.state.items():
            for other in (
                None,
                array[None],
                array.astype(np.float32 if array.dtype != np.float32 else np.float64),
            ):
                if not refusal(array_name, other):
                    believed.append(
                        f"{array_name} {'missing' if other is None else f'as {other.shape} of {other.dtype}'}"
                    )
            if array_name.startswith(WITHOUT_RANGE):
                continue
            for value in worst(array_name, array):
                changed = array.copy()
                changed.reshape(-1)[-1:] = value
                if array.size and not refusal(array_name, changed):
                    believed.append(f"{array_name} with {value}")
        with pytest.raises(SavedError, match="systems/Walk/more: not known here"):
            run.restore({**begun.state, "systems/Walk/more": np.zeros(3)})
        run.restore(begun.state)
        again = run.state()
        assert again.keys() == begun.state.keys() and all(
            again[each].tobytes() == array.tobytes() for each, array in begun.state.items()
        )
    assert [text for text in believed if not any(part in text for part in MAY_BE)] == [], HOW


# What these keep means something to a model, or a system of a user's own, alone, which says if it cannot take
# it back (tests/systems/test_own_systems.py).
OF_PLUGINS = {"AvoidanceModel", "StatelessModel", "GuardedModel", "OwnSystem"}
# What a planner in plain Python keeps is a request queue, and expansions:
# tests/navigation/planning/test_planner.py and test_own_planner.py take it back.
OF_PLUGINS.add("PlainPlanner")


HOW_SCENE = (
    "These are in no scene, so that no test looks at them: add a scene to hostile_states.SCENES that has "
    "them at its end."
)


def keepers() -> set[tuple[str, str]]:
    """Return what takes a state back, as module and class; protocols, which only say how, left out."""
    found = set()
    for path in sorted((ROOT / "crowdsim").rglob("*.py")):
        text = path.read_text()
        for kind in ast.walk(ast.parse(text)) if "def restore(" in text else ():
            if isinstance(kind, ast.ClassDef) and "Protocol" not in [
                base.id for base in kind.bases if isinstance(base, ast.Name)
            ]:
                restores = [
                    each
                    for each in kind.body
                    if isinstance(each, ast.FunctionDef)
                    and each.name == "restore"
                    and not each.decorator_list
                ]
                found |= {
                    (".".join(path.relative_to(ROOT).with_suffix("").parts), kind.name) for _ in restores
                }
    return {(module, name) for module, name in found if name not in OF_PLUGINS}


@pytest.mark.sample(8)
@pytest.mark.parametrize("name", sorted(SCENES))
@pytest.mark.parametrize("ticks", [120])
def test_what_a_run_has_saved_is_never_refused(name: str, ticks: int) -> None:
    """What is asked of states is no more than what runs give:
    in every third tick, and as it was when it is given out again.
    """
    scene, scenario = SCENES[name], prepared(name)[0]
    with Simulation(scenario) as run, Simulation(scenario) as other:
        for tick in range(ticks):
            if tick == scene.ticks and scene.then is not None:
                scene.then(run)
            if tick % 3 == 0:
                state = run.state()
                other.restore(state)
                again = other.state()
                assert (
                    again.keys() == state.keys()
                    and [each for each in state if again[each].tobytes() != state[each].tobytes()] == []
                )
            run.step()


def same_name(name: str) -> str:
    """Return a name without numbers, and without the part of the crowd that has a planner of its own."""
    name = re.sub(r"\d+", "0", name).replace("systems/Plan/0/", "systems/Plan/")
    return name.replace("/inner_", "/").replace("/planner/", "/")


def test_every_keeper_of_a_state_and_every_array_of_it_is_in_a_scene(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is in no scene here is looked at by no test here:
    a change that adds something that lives adds a scene that has it.
    """
    seen, most, there = set(), Counter[str](), keepers()
    for module, name in there:
        kind = getattr(importlib.import_module(module), name)

        def noted(
            self: Any, *given: Any, _plain: Any = kind.restore, _keeper: tuple[str, str] = (module, name)
        ) -> Any:
            seen.add(_keeper)
            return _plain(self, *given)

        monkeypatch.setattr(kind, "restore", noted)
    for name in SCENES:
        scenario, begun = prepared(name)
        for array_name, array in begun.state.items():
            most[same_name(array_name)] += array.size
        with Simulation(scenario) as run:
            run.restore(begun.state)
    assert there - seen == set(), HOW_SCENE
    assert [name for name, size in most.items() if not size] == [], HOW_SCENE


# What means something: a place that was not kept, an end that never comes, a corner that is not known, no
# cause yet, no orders, a length that is not known.
MAY_BE = (
    "agents/trail with nan",
    "walks/requested with nan",
    "numbers with nan",
    f"agents/corner_vertex with {NOT_CACHED}",
    f"stuck_cause with {NOT_DIAGNOSED}",
    "ChangeGround/tiles_ordered missing",
    "agents/remaining with nan",
    "agents/nearest_remaining with nan",
    "agents/progress_trail with nan",
    "own_speed with nan",
    "waypath_aim with nan",
)


def test_what_is_saved_is_taken_for_its_type_its_shape_and_its_range_only() -> None:
    saved = Saved(
        {
            "a/n": np.arange(3),
            "a/x": np.array([[0.5, np.inf]]),
            "a/end": np.array([7]),
            "b": np.array([True]),
        },
        "thing/",
    )
    part = saved.below("a/")
    assert (
        part.take("n", "i8", (3,), low=0, high=2).tolist() == [0, 1, 2]
        and part.names() == ["end", "n", "x"]
        and "n" in part
        and "b" not in part
    )
    for arguments, options, words in (
        (("m", "i8"), {}, "thing/a/m is missing"),
        (("n", "i4"), {}, "thing/a/n is 3 of int64, but has to be n of int32"),
        (("n", "i8", (None, 2)), {}, "thing/a/n is 3 of int64, but has to be n x 2 of int64"),
        (("n", "i8", (4,)), {}, "has to be 4 of int64"),
        (("n", "i8"), {"low": 1}, r"thing/a/n\[0\] is 0, but has to be at least 1"),
        (
            ("n", "i8"),
            {"low": 0, "high": [5, 0, 5]},
            r"thing/a/n\[1\] is 1, but has to be at least 0 and at most 0",
        ),
        (("x", "f8", (1, 2)), {}, r"thing/a/x\[0, 1\] is inf, but has to be finite"),
        (("x", "f8", (1, 2)), {"special": "nan"}, r"thing/a/x\[0, 1\] is inf"),
    ):
        with pytest.raises(SavedError, match=words):
            part.take(*arguments, **options)
    assert (
        part.take("x", "f8", (1, 2), low=0.0, special="inf").tolist() == [[0.5, np.inf]]
        and part.whole("end", 0, 7) == 7
    )
    with pytest.raises(SavedError, match="thing/b: not known here"):
        saved.finish()
    assert (
        saved.below("").like({"b": np.array([False])})["b"].tolist() == [True]
        if saved.names() == ["b"]
        else True
    )
    saved.take("b", "?", (1,))
    saved.finish()


def test_parts_and_records_of_what_is_saved_fit_together() -> None:
    saved = Saved({"lengths": np.array([2, 0, 1]), "entity": np.array([3, 1]), "at": np.array([0.5, 1.5])})
    assert saved.parts("lengths", 3, 3).tolist() == [2, 0, 1]
    with pytest.raises(SavedError, match="lengths adds up to 3, but has to be 4"):
        saved.parts("lengths", 3, 4)
    dtype = np.dtype([("entity", "i8"), ("at", "f8")])
    records = saved.records("", dtype, {"entity": (0, 9), "at": (0.0, 2.0)})
    assert records["entity"].tolist() == [3, 1] and {
        name: array.tolist() for name, array in fields_of("", records).items()
    } == {"entity": [3, 1], "at": [0.5, 1.5]}
    with pytest.raises(SavedError, match=r"at\[1\] is 1.5, but has to be at least 0.0 and at most 1.0"):
        saved.records("", dtype, {"entity": (0, 9), "at": (0.0, 1.0)})
    with pytest.raises(SavedError, match=r"entity\[1\] is 1, but they have to ascend"):
        saved.require(ascends(records["entity"]), "entity", "they have to ascend")


def test_a_tile_with_fewer_kinds_of_edges_than_edges_is_refused(tmp_path: Path) -> None:
    """One of ten thousand: where the kinds of one tile end was off by one, and that was a traceback."""
    scenario, begun = prepared("tiles")
    ends = begun.state["world/tiles/tiles.edge_kind.ends"].copy()
    ends[len(ends) // 2] -= 1
    state = {**begun.state, "world/tiles/tiles.edge_kind.ends": ends}
    checkpoint = dataclasses.replace(begun, state=state)
    assert outcome(checkpoint, scenario, tmp_path) == "refused"
