"""States that were changed by hand, with right checksums: scenes that have everything that lives,
what can be changed in a state, and a process that takes changed ones up and goes on from them.

``python -m tests.simulation.hostile_states FIRST COUNT FOLDER`` prints for each number what it is before it
is tried, and what came of it after.
"""

from __future__ import annotations

import dataclasses
import faulthandler
import resource
import sys
import traceback
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.errors import RecordingError
from crowdsim.recording.checkpoint import Checkpoint, checkpoint_bytes, read_checkpoint
from crowdsim.scenario.load import as_scenario, load_scenario
from crowdsim.scenario.model import Scenario
from crowdsim.simulation.checkpoints import Start, checkpoint_of
from crowdsim.simulation.simulation import Simulation
from tests.crowds import SCENARIOS
from tests.scenes.behaviour import everything
from tests.scenes.connections import halves, riders, storeys, two, walkers

TICKS = 40  # after a state was taken up: what was wrong in it has got to the kernels by then
MOST_MEMORY = 8 << 30
State = dict[str, NDArray[Any]]

BOX = [[0, 0], [16, 0], [16, 10], [0, 10]]
PILLARS = [
    {"box": [4, 2, 5, 3]},
    {"box": [4, 6, 5.5, 8]},
    {"box": [8, 4, 9, 6]},
    {"box": [11, 1, 12, 3]},
    {"box": [11, 6.5, 12, 9]},
]
LEFT, RIGHT = {"box": [0.3, 0.5, 3.5, 9.5]}, {"box": [12.5, 0.5, 15.7, 9.5]}


def hall(
    navigation: Any = "mesh",
    work: float = 12,
    *,
    groups: list[dict[str, Any]] | None = None,
    geometry: Mapping[str, Any] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """Return a hall with pillars in which two groups go past each other;
    `work` is what searches may do in a tick.
    """
    both = [
        {
            "name": "right",
            "count": 9,
            "region": LEFT,
            "goals": ["seat", "out"],
            "radius": {"choice": {"values": [0.2, 0.3]}},
        },
        {"name": "left", "count": 7, "region": RIGHT, "goals": ["in"]},
    ]
    return {
        "version": 1,
        "name": "hall",
        "seed": 5,
        "tick": 0.1,
        "stop": {"after": 60, "when": "never"},
        "geometry": {"walkable": [BOX], "obstacles": PILLARS, **(geometry or {})},
        "goals": {
            "out": {"exit": {"box": [15.7, 4, 16, 6]}},
            "in": {"exit": {"box": [0, 4, 0.3, 6]}},
            "seat": {"point": [10, 8], "arrive_within": 0.4},
        },
        "groups": groups or both,
        "navigation": navigation,
        "budget": {"work": work},
        **more,
    }


STANDING = {
    "name": "standing",
    "positions": [[6.5, 4.7], [6.5, 5.3], [7, 3], [7.1, 7], [13.5, 5]],
    "immovable": True,
}
WALKING = [
    {"name": "right", "count": 9, "region": LEFT, "goals": ["out"]},
    {"name": "left", "count": 7, "region": {"box": [14, 0.5, 15.7, 9.5]}, "goals": ["in"]},
]
COMING = [
    {
        "name": "flow",
        "region": LEFT,
        "goals": {"shares": {"out": 3, "seat": 1}},
        "arrive": {"rate": 3, "process": "poisson"},
    },
    {
        "name": "trains",
        "goals": ["out"],
        "arrive": {
            "trains": {"people": {"uniform": {"low": 8, "high": 12}}, "every": 1.0, "within": 0.8},
            "doors": [{"box": [0, 0, 1, 1]}, {"box": [0, 9, 1, 10]}],
        },
    },
]
CHOICE = {
    "out": {"exit": {"box": [15.7, 4, 16, 6]}, "flow": 2},
    "in": {"exit": {"box": [0, 4, 0.3, 6]}},
    "any": {"quickest_of": ["in", "out"], "knows": "seen", "familiar": {"share": 0.3, "only": ["out"]}},
}
CHOOSING = [
    {"name": "right", "count": 9, "region": LEFT, "goals": ["any"]},
    {"name": "left", "count": 7, "region": RIGHT, "goals": ["any"]},
]
CELL = [
    {"box": [7, 7, 7.2, 9]},
    {"box": [8, 7, 8.2, 9]},
    {"box": [7, 6.8, 8.2, 7]},
    {"box": [7, 9, 8.2, 9.2]},
]
WHERE = {
    "out": {"exit": {"box": [15.7, 4, 16, 6]}},
    "in": {"exit": {"box": [0, 4, 0.3, 6]}},
    "near": {"region": {"box": [2, 1, 5, 9]}},
    "cell": {"region": {"box": [7.2, 7, 8, 9]}},
}
STAYING = [
    {
        "name": "guests",
        "goals": ["near"],
        "leave_on_arrival": False,
        "region": LEFT,
        "arrive": {"schedule": [[0.1, 12]]},
    },
    {
        "name": "lost",
        "goals": ["cell"],
        "region": RIGHT,
        "arrive": {"rate": 5, "at_most": 20},
    },
]
NARROW = {"obstacles": [{"box": [7.5, 0, 8.5, 4.5]}, {"box": [7.5, 5.4, 8.5, 10]}]}
FACE_TO_FACE = [
    {"name": "right", "count": 6, "region": {"box": [4, 3, 7, 7]}, "goals": ["out"]},
    {"name": "left", "count": 6, "region": {"box": [9, 3, 12, 7]}, "goals": ["in"]},
]
DOOR = {
    "areas": [
        {"name": "door", "area": {"box": [8, 6, 9, 10]}},
        {"name": "gate", "area": {"box": [8, 0, 9, 4]}, "available": False},
    ]
}
CLOSES = [
    {"at": 0.3, "close": "door"},
    {"at": 0.8, "open": "gate"},
    {"when": {"crossed": [[3, 0], [3, 10]], "count": 3}, "open": "door"},
    {"when": {"met": ["left", "right"], "within": 1.0}, "close": "gate"},
]
CART = [
    {"name": "cart", "shape": {"disc": 0.4}, "path": [[6, 2], [6, 8]], "speed": 0.8, "loop": True},
    {
        "name": "bench",
        "shape": {"polygon": [[-0.5, -0.2], [0.5, -0.2], [0.5, 0.2], [-0.5, 0.2]]},
        "path": [[10, 5]],
        "appears": 0.2,
        "stands_after": 0.2,
    },
    {
        "name": "bar",
        "shape": {"polygon": [[-0.5, -0.2], [0.5, -0.2], [0.5, 0.2], [-0.5, 0.2]]},
        "path": [[13.5, 8]],
        "turns": 0.5,
        "vanishes": 2.0,
    },
]
FLOORS = {
    **hall(work=15),
    "goals": {"out": {"exit": {"box": [0, 4, 0.3, 6]}, "storey": "ground"}},
    "geometry": {
        "storeys": [
            {"name": "ground", "elevation": 0, "walkable": {"box": [0, 0, 12, 8]}},
            {"name": "upper", "elevation": 3, "walkable": {"box": [0, 0, 12, 8]}},
        ],
        "connections": [
            {
                "name": "stair",
                "lower": "ground",
                "upper": "upper",
                "foot": [[3, 4], [3, 6]],
                "head": [[8, 4], [8, 6]],
            }
        ],
    },
    "groups": [
        {"name": "guests", "count": 8, "storey": "upper", "goals": ["out"]},
        {"name": "staff", "count": 4, "storey": "ground", "goals": ["out"]},
    ],
}
MODELS = ["orca", "clearpath", "hrvo", "sampled-hrvo", "toi", "none"]
OF_MODELS = [
    {"name": f"{model}-{side}", "count": 2, "region": region, "goals": [goal], "avoidance": model}
    for model in MODELS for side, region, goal in (("a", LEFT, "out"), ("b", RIGHT, "in"))
]  # fmt: skip
OF_PLANNERS = [
    {"name": kind, "count": 4, "region": region, "goals": [goal], "navigation": kind}
    for kind, region, goal in (
        ("mesh", LEFT, "out"),
        ("optimal", RIGHT, "in"),
        ("visibility", LEFT, "out"),
        ("grid", RIGHT, "in"),
    )
]


def steer(run: Simulation) -> None:
    """Do what programs do."""
    run.set_preferred_velocity([1, 2], (0.5, 0.5))
    run.set_radius([3, 4], 0.25)
    run.set_goal([5, 6], "in")


def send(run: Simulation) -> None:
    """Send all agents elsewhere."""
    for entity in run.world.agents.entity.tolist():
        run.set_goal([entity], ["in", "out", "seat"][entity % 3])
    run.step()


def send_about(run: Simulation) -> None:
    """Send agents to points and regions, and to others before they have got there."""
    for _ in range(3):
        for number, entity in enumerate(run.world.agents.entity.tolist()):
            if number % 3 == 0:
                run.set_goal([entity], {"region": {"box": [9 + number % 2, 6.5, 10.8, 9]}})
            else:
                run.set_goal([entity], [6 + 0.25 * (number % 30), 0.5 + 0.1 * (run.tick % 3)])
        run.step()


def put_in(run: Simulation) -> None:
    """Put in an obstacle, and send another one elsewhere."""
    run.put_obstacle("box", {"polygon": [[-0.4, -0.4], [0.4, -0.4], [0.4, 0.4], [-0.4, 0.4]]}, (13, 5))
    run.move_obstacle("cart", [[3, 5], [3, 2]], 1.0)
    run.step()


def take_tiles(run: Simulation) -> None:
    """Take tiles out, and order more."""
    run.remove_tile(1, 1)
    run.step()
    run.remove_tile(2, 0)
    run.add_tile(1, 1)


def take_tiles_of_floors(run: Simulation) -> None:
    """Take tiles of a storey and of a stair out, and order more."""
    run.remove_tile(1, 1, storey="stair")
    run.remove_tile(2, 1, storey="upper")
    run.step()
    run.remove_tile(0, 0, storey="ground")
    run.add_tile(2, 1, storey="upper")


def let_in(run: Simulation) -> None:
    """Put agents in, and switch others off."""
    run.add_agents("spare", [[8, 2], [8, 3]])
    run.switch_off([1, int(run.agents.entity[-1])])
    run.remove_agents(2)


def switch_off(run: Simulation) -> None:
    """Switch agents off."""
    run.switch_off([1, 3, 9])


class Scene:
    """A scene, and how it comes to a state that has all that can be changed."""

    def __init__(
        self, document: Callable[[], Any], ticks: int, then: Callable[[Simulation], None] | None = None
    ) -> None:
        self.document, self.ticks, self.then = document, ticks, then


def _file(name: str, *sets: str) -> Callable[[], Scenario]:
    return lambda: load_scenario(SCENARIOS / f"{name}.yaml", sets=["stop.after=30", *sets])


SCENES = {
    "mesh": Scene(lambda: hall(work=5), 4),
    "steered": Scene(lambda: hall(), 8, steer),
    "outside": Scene(
        lambda: hall(groups=[*WALKING, {"name": "spare", "count": 0, "reserve": 4, "goals": ["in"]}]),
        8,
        let_in,
    ),
    "hiding": Scene(
        lambda: hall(
            groups=[
                {**WALKING[0], "navigation": {"kind": "visibility", "unseen_by": ["left"]}},
                WALKING[1],
            ],
            work=30,
        ),
        25,
    ),
    "agents come": Scene(lambda: hall(groups=[*WALKING, *COMING]), 30, send_about),
    "parties": Scene(
        lambda: hall(
            "mesh",
            200,
            goals={
                "out": {"exit": {"box": [15.7, 4, 16, 6]}},
                "in": {"exit": {"box": [0, 4, 0.3, 6]}},
                "any": {"nearest_of": ["in", "out"]},
            },
            groups=[
                {**COMING[0], "goals": ["out"], "together": {"size": 3, "gap": 1}},
                {
                    "name": "middle",
                    "positions": [
                        [6.6, 1.5],
                        [7.1, 2],
                        [8.5, 2],
                        [9.2, 1.5],
                        [6.6, 9],
                        [7, 9],
                        [9, 9],
                        [7, 8.4],
                    ],
                    "goals": ["any"],
                    "together": {"size": 4, "leader": True, "gap": 0.5},
                },
            ],
        ),
        14,
        switch_off,
    ),
    "connections": Scene(
        lambda: halves(
            {
                "ferry": two("passage", time=3, capacity=2),
                "rungs": two("ladder", climb=2),
                "red door": two("door", key="red"),
            },
            [walkers(6), walkers(4, name="v", goes="west"), walkers(3, name="k", keys=["red"], reserve=2)],
        ),
        70,
    ),
    "waypaths": Scene(
        lambda: {
            **halves({}, [walkers(9)]),
            "geometry": {"walkable": {"box": [0, 0, 20, 6]}},
            "waypaths": {"lane": {"points": [[6, 1], {"at": [9, 1], "wait": 1, "crouch": True}, [15, 1]]}},
        },
        55,
        switch_off,
    ),
    "jumps": Scene(
        lambda: {
            **halves({}, [walkers(6), {"name": "bold", "positions": [[7.6, 3]], "behaviour": "bold"}]),
            "jumps": {"lasts": 30, "speed": 9},
            "behaviours": {"bold": {"states": {"jump": {"jump": {"point": [12.6, 3]}}}}},
        },
        26,
    ),
    "vehicles": Scene(
        lambda: hall(
            groups=[
                {"name": "right", "count": 9, "region": LEFT, "goals": ["out"], "reserve": 2},
                {
                    "name": "carts",
                    "positions": [[2, 4.5]],
                    "goals": ["out"],
                    "vehicle": {"length": 1.5, "width": 0.8, "turning_radius": 2, "heading": [1, 0]},
                },
            ],
        ),
        20,
    ),
    "lifts": Scene(
        lambda: storeys({"a": {"capacity": 2}, "b": {"capacity": 3}}, [riders(6, 0, 2), riders(5, 2, 0)]),
        130,
    ),
    "turnstiles": Scene(
        lambda: hall(
            goals={"out": {"exit": {"box": [15, 3, 16, 7]}, "flow": 0.5}},
            groups=[
                {"name": "right", "positions": [[14.5, 4], [14.6, 5], [15.4, 6], [14, 6]], "goals": ["out"]}
            ],
        ),
        20,
    ),
    "agents come and stay": Scene(
        lambda: hall(
            geometry={"obstacles": [*PILLARS, *CELL]},
            groups=[*WALKING, *STAYING],
            goals=WHERE,
            tick=0.18,
        ),
        290,  # until the lost ones have been stuck for long
    ),
    "previous paths": Scene(
        lambda: hall(
            {"kind": "optimal", "while_waiting": "previous"}, 10, bodies={"replanning": True, "nudging": True}
        ),
        30,
        send,
    ),
    "sent about": Scene(lambda: hall("mesh", 5), 8, send_about),
    "sent about on shortest paths": Scene(lambda: hall("optimal", 30), 8, send_about),
    "sent about over corners": Scene(lambda: hall("visibility", 20), 8, send_about),
    "sent about on a grid": Scene(lambda: hall("grid", 200), 8, send_about),
    "leaving": Scene(
        lambda: hall(
            work=60,
            groups=[*WALKING, {"name": "near", "positions": [[14.9, 5], [15, 5.6]], "goals": ["out"]}],
        ),
        12,
    ),
    "optimal": Scene(lambda: hall("optimal", 6), 5),
    "visibility": Scene(lambda: hall("visibility", 2), 6),
    "hierarchical": Scene(lambda: hall({"kind": "hierarchical", "area_size": 3}, 8), 6),
    "unseen": Scene(
        lambda: hall(
            {"kind": "visibility", "unseen_from": [[8, 8]], "shun": [[6, 5]], "share_searches": False}, 4
        ),
        4,
    ),
    "grid": Scene(lambda: hall("grid", 25), 6),
    "grid alone": Scene(lambda: hall({"kind": "grid", "share_searches": False}, 60), 5),
    "walking on a grid": Scene(lambda: hall("grid", 100), 19),
    "guesses on a grid": Scene(lambda: hall({"kind": "grid", "while_waiting": "guess"}, 25), 14),
    "previous paths on a grid": Scene(
        lambda: hall({"kind": "s2-grid", "while_waiting": "previous"}, 120, groups=[*WALKING, STANDING]),
        30,
        send,
    ),
    "s2-grid": Scene(lambda: hall("s2-grid", 25, groups=[*WALKING, STANDING]), 8),
    "stationary agents": Scene(
        lambda: hall(
            {"kind": "mesh", "round_stationary": True},
            5,
            groups=[*WALKING, STANDING],
            bodies={"nudging": True, "replanning": True},
        ),
        6,
    ),
    "optimal round stationary agents": Scene(
        lambda: hall({"kind": "optimal", "round_stationary": True}, 7, groups=[*WALKING, STANDING]), 7
    ),
    "visibility round stationary agents": Scene(
        lambda: hall({"kind": "visibility", "round_stationary": True}, 15, groups=[*WALKING, STANDING]), 9
    ),
    "doors": Scene(lambda: hall(work=8, geometry=DOOR, events=CLOSES), 12),
    "doors on a grid": Scene(lambda: hall("grid", 40, geometry=DOOR, events=CLOSES), 12),
    "tiles": Scene(
        lambda: hall({"kind": "mesh", "tile_size": 4}, 8, geometry=DOOR, events=CLOSES), 10, take_tiles
    ),
    "optimal on tiles": Scene(lambda: hall({"kind": "optimal", "tile_size": 4}, 8), 6, take_tiles),
    "doors and what moves": Scene(lambda: hall(work=9, obstacles=CART, geometry=DOOR, events=CLOSES), 12),
    "what moves": Scene(lambda: hall(work=9, obstacles=CART), 8, put_in),
    "what moves on a grid": Scene(lambda: hall("grid", 30, obstacles=CART), 8, put_in),
    "floors": Scene(lambda: FLOORS, 6),
    "tiles of floors": Scene(
        lambda: {**FLOORS, "navigation": {"kind": "optimal", "tile_size": 4}}, 6, take_tiles_of_floors
    ),
    "tiles of a surface": Scene(_file("bridge", "budget.work=9", "navigation.tile_size=8"), 6),
    "grid on floors": Scene(lambda: FLOORS | {"navigation": "grid", "budget": {"work": 60}}, 6),
    "guesses on a grid on floors": Scene(
        lambda: FLOORS | {"navigation": {"kind": "grid", "while_waiting": "guess"}, "budget": {"work": 40}},
        14,
    ),
    "surface": Scene(_file("bridge", "budget.work=9"), 6),
    "terrain": Scene(
        lambda: hall(
            work=5, geometry={"terrain": [{"name": "grass", "speed": 0.5, "area": {"box": [6, 0, 10, 10]}}]}
        ),
        5,
    ),
    "local grids": Scene(
        lambda: hall(groups=[*WALKING, STANDING], bodies={"local_grid": True, "replanning": True}), 20
    ),
    "priority": Scene(
        lambda: hall(bodies={"priority": "waiting", "nudging": True}, speed_density="weidmann"), 20
    ),
    "narrow": Scene(
        lambda: hall(work=200, geometry=NARROW, groups=FACE_TO_FACE, bodies={"priority": "waiting"}), 98
    ),
    "models": Scene(lambda: hall(groups=OF_MODELS), 12),
    "planners": Scene(lambda: hall("mesh", 15, groups=OF_PLANNERS), 4),
    "machines of states": Scene(everything, 130, switch_off),
    "choices": Scene(
        lambda: hall(groups=CHOOSING, goals=CHOICE, geometry=DOOR, events=CLOSES), 12, switch_off
    ),
    "milliseconds": Scene(lambda: hall("optimal", 0) | {"budget": {"milliseconds": 2.0, "slice": 5}}, 4),
}


@cache
def prepared(name: str) -> tuple[Scenario, Checkpoint]:
    """Return a scene and a checkpoint in the middle of it."""
    scene = SCENES[name]
    scenario = as_scenario(scene.document())
    with Simulation(scenario) as run:
        for _ in range(scene.ticks):
            run.step()
        if scene.then is not None:
            scene.then(run)
        return scenario, checkpoint_of(run)


def extremes(array: NDArray[Any]) -> list[Any]:
    """Return values that an array can hold and hardly may."""
    if array.dtype.kind == "f":
        return [
            np.nan,
            np.inf,
            -np.inf,
            1e300 if array.dtype.itemsize == 8 else 1e38,
            -1e300 if array.dtype.itemsize == 8 else -1e38,
            -1.0,
            0.0,
            1e9,
            0.5,
        ]
    if array.dtype.kind == "b":
        return [True, False]
    info = np.iinfo(array.dtype)
    return [
        value
        for value in (info.min, info.max, -1, -2, 0, 1, 2**31 - 1, -(2**31), 2**40, 2**62, 255)
        if info.min <= value <= info.max
    ]


def change(state: State, rng: np.random.Generator) -> str:
    """Change something in a state; return what."""
    names = sorted(state)
    name = names[int(rng.integers(len(names)))]
    array = state[name].copy()
    kind = int(rng.integers(0, 16))
    flat = array.reshape(-1)
    if kind < 7 and array.size:  # single values
        for _ in range(int(rng.integers(1, 4))):
            place = int(rng.integers(flat.size))
            how = int(rng.integers(0, 5))
            if how == 0:
                flat[place] = extremes(array)[int(rng.integers(len(extremes(array))))]
            elif how == 1:
                flat[place] = flat[int(rng.integers(flat.size))]
            elif array.dtype.kind in "iu":
                with np.errstate(over="ignore"):
                    flat[place] += np.array([-1, 1, 2, -3, 7, 100][int(rng.integers(6))]).astype(array.dtype)
            elif array.dtype.kind == "f":
                flat[place] += [1e-9, -1e-6, 0.3, -2.0, 1e3, -1e5][int(rng.integers(6))]
            else:
                flat[place] = not flat[place]
        state[name] = array
        return f"{name}: values"
    if kind == 7 and array.size:
        state[name] = np.full_like(array, extremes(array)[int(rng.integers(len(extremes(array))))])
        return f"{name}: all the same"
    if kind == 8 and array.size > 1:
        rng.shuffle(flat)
        state[name] = array
        return f"{name}: shuffled"
    if kind == 9 and len(array.shape) and array.shape[0]:
        state[name] = [
            array[::-1],
            array[:-1],
            np.concatenate([array, array[-1:]]),
            array[:0],
            np.concatenate([array, array]),
        ][int(rng.integers(5))].copy()
        return f"{name}: another length"
    if kind == 10:
        wanted = ["<f8", "<i8", "<i4", "|u1", "|b1", "<f4", ">i8", "<U3"][int(rng.integers(8))]
        with np.errstate(all="ignore"):
            state[name] = (
                np.zeros(array.shape, dtype=wanted)
                if wanted == "<U3" or array.dtype.kind == "U"
                else array.astype(wanted)
            )
        return f"{name}: as {wanted}"
    if kind == 11:
        state[name] = [
            array.reshape(-1),
            array.reshape(1, *array.shape),
            array.T,
            array.reshape(*array.shape, 1),
            np.array(5),
        ][int(rng.integers(5))].copy()
        return f"{name}: another shape"
    if kind == 12:
        del state[name]
        return f"{name}: missing"
    if kind == 13:
        state[f"{name}{['x', '/0', ''][int(rng.integers(3))]}"] = np.arange(3)
        return f"{name}: one more"
    like = [
        other
        for other in names
        if other != name and state[other].dtype == array.dtype and state[other].ndim == array.ndim
    ]
    if kind == 14 or not like:
        low, high = (0, 200) if array.dtype.kind not in "iu" else (-5, 300)
        if array.dtype.kind != "b" and array.size:
            with np.errstate(all="ignore"):
                state[name] = rng.integers(low, high, array.shape).astype(array.dtype)
        return f"{name}: at random"
    other = like[int(rng.integers(len(like)))]
    state[name], state[other] = state[other].copy(), array
    return f"{name}: exchanged with {other}"


def changed(number: int) -> tuple[str, Checkpoint, Scenario, str]:
    """Return a scene, a checkpoint of it of which something was changed, and what: of each number another."""
    names = sorted(SCENES)
    name = names[number % len(names)]
    scenario, begun = prepared(name)
    rng = np.random.default_rng(number)
    state = dict(begun.state)
    what = [change(state, rng) for _ in range(1 + int(rng.random() < 0.3))]
    return name, dataclasses.replace(begun, state=state), scenario, "; ".join(what)


def outcome(checkpoint: Checkpoint, scenario: Scenario, folder: Path) -> str:
    """Take a checkpoint up and go on; return what came of it.
    Whatever is no refusal in one sentence is raised.
    """
    path = folder / "changed.checkpoint"
    path.write_bytes(checkpoint_bytes(checkpoint))
    try:
        run = Simulation(scenario, start=Start(read_checkpoint(path), str(path)))
    except RecordingError as error:
        text = str(error)
        assert (
            text.startswith(f"{path}: ")
            and "\n" not in text
            and len(text) < 800
            and "Go on from another checkpoint" in text
        ), text
        assert f"after tick {checkpoint.tick} " in text, text
        return "refused"
    with run:
        for _ in range(TICKS):
            if run.why_over():
                break
            run.step()
        run.finish()
    return "ran"


def say(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main() -> None:
    """Try some numbers, one after the other."""
    first, count, folder = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
    faulthandler.enable()
    for name in sorted(SCENES)[: max(1, count)]:
        prepared(name)
    say("ready")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number in range(first, first + count):
        name, checkpoint, scenario, what = changed(number)
        say(f"try {number} {name} | {what}")
        try:
            say(f"done {outcome(checkpoint, scenario, folder)}")
        except BaseException:
            say("done fault " + traceback.format_exc().replace("\n", "\\n"))
    say(f"memory {(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024}")


if __name__ == "__main__":
    main()
