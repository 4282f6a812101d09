"""Every system of the tick is held to what it declares to read and write,
in scenes that have something of everything.
"""

from __future__ import annotations

import json
from collections import defaultdict
from functools import cache

import numpy as np
import pytest

from crowdsim.scenario.load import load_scenario, parse_scenario
from crowdsim.simulation.simulation import Simulation
from crowdsim.systems import TICK_ORDER, Tick
from crowdsim.world.declared import ROWS, DeclaredColumns, WriteOnly, columns_declared
from tests.crowds import BUSY, SCENARIOS, simulation

# in the way of agents that go east
IDLE = {"name": "idle", "positions": [[6.5, 3.4], [6.5, 4.6], [7.2, 4.0], [4.5, 1.75]]}
GUESTS = {
    "name": "guests",
    "positions": [[5.5, 7.5], [5.5, 6.5]],
    "goals": "table",
    "leave_on_arrival": False,
}
CART = {
    "name": "cart",
    "shape": {"disc": 0.4},
    "path": [[2, 1], {"point": [5, 1], "wait": 2}, [7, 1]],
    "speed": 1,
    "vanishes": 9,
    "stands_after": 0.5,
}
DOOR = {
    "walkable": [*[{"box": [0, 0, 4, 4]}], {"box": [4, 1, 4.2, 3]}, {"box": [4.2, 0, 8, 4]}],
    "areas": [{"name": "door", "area": {"box": [4, 1, 4.2, 3]}}],
}
THROUGH = {"name": "through", "positions": [[3.2, 2], [4.1, 2], [5, 2], [1, 1]], "goals": [{"point": [7, 2]}]}
COMES = {"region": {"box": [0, 0, 2, 8]}, "goals": {"shares": {"east": 1, "west": 2}}}
MACHINES = {
    "inside": {
        "when": [{"signal": "alarm", "to": "out"}],
        "states": {
            "come": {"go_to": "table", "speed": 1.1, "lasts": 4, "then": {"buy": 2, "stroll": 1}},
            "buy": {"queue": {"at": "till", "patience": 5}, "then": "stroll", "cannot": "sit"},
            "stroll": {"wander": {"where": "table"}, "lasts": 2, "then": "sit"},
            "sit": {"stay": "table", "lasts": 3, "then": "out"},
            "out": {"leave": "east"},
        },
    },
    "shy": {
        "states": {
            "lurk": {"wait_until": {"near": {"to": "guards", "within": 4, "seen": True}}, "then": "hide"},
            "hide": {"flee": {"away_from": ["guards"], "hidden_for": 1}, "then": "after"},
            "after": {"follow": {"after": "guests", "distance": 1}, "lasts": 2, "then": "lurk"},
        }
    },
    "guard": {
        "states": {
            "round": {"patrol": {"places": ["west", "east"], "pause": 0.2}, "lasts": 5, "then": "to"},
            "to": {"approach": {"to": "shy"}, "lasts": 2, "then": "tell"},
            "tell": {"wait": 0.5, "signals": ["alarm"], "then": "round"},
        }
    },
}
FERRY = [{"area": {"box": [7, 2, 8, 4]}}, {"area": {"box": [12, 2, 13, 4]}}]
LIFT = [
    {"area": {"box": [7, 4.2, 8, 6]}, "line": [[6.5, 5], [2, 5]]},
    {"area": {"box": [12, 4.2, 13, 6]}},
]
LED = [
    {"name": "guests", "count": 9, "region": {"box": [0, 0, 4, 8]}, "behaviour": "inside"},
    {"name": "guards", "positions": [[1, 7]], "behaviour": "guard"},
    {"name": "shy", "positions": [[4, 6], [6, 6]], "behaviour": "shy"},
]
TILL = {
    "till": {
        "servers": [[7.5, 1]],
        "line": [[7.5, 1.8], [7.5, 4]],
        "service": {"normal": {"mean": 1, "sd": 0.3}},
    }
}
EVERYTHING = ["bodies.nudging=true", "bodies.replanning=true"]
STUCK = {
    **{key: BUSY[key] for key in ("version", "name", "seed")},
    "tick": 0.15,
    "stop": {"after": 60, "stuck_for": 60},
    "geometry": {"walkable": {"box": [0, 0, 8, 0.9]}},
    "groups": [
        {"name": "post", "positions": [[4, 0.45]], "radius": 0.3, "immovable": True},
        {"name": "all", "positions": [[2.8, 0.45], [3.3, 0.45]], "goals": [{"point": [7, 0.45]}]},
    ],
}
SCENES = {  # document or file, settings, ticks
    "agents in the way": (
        {**BUSY, "groups": [*BUSY["groups"], IDLE, GUESTS]},
        [*EVERYTHING, "bodies.local_grid=true"],
        110,
    ),
    "obstacles": (
        {**BUSY, "obstacles": [CART]},
        ["speed_density=weidmann", "bodies.priority=waiting", "avoidance=sampled-hrvo"],
        95,
    ),
    "on a grid": (
        {**BUSY, "obstacles": [CART], "groups": [*BUSY["groups"], IDLE]},
        ["navigation=grid", *EVERYTHING, "avoidance=hrvo"],
        60,
    ),
    "over corners": (
        {**BUSY, "groups": [*BUSY["groups"], IDLE]},
        ["navigation={kind: visibility, round_stationary: true}", *EVERYTHING],
        60,
    ),
    "curved paths": (BUSY, ["navigation=optimal", "navigation.smoothing=bezier"], 40),
    "previous paths": (
        BUSY,
        ["navigation={kind: mesh, while_waiting: previous}", "bodies.replanning=true"],
        60,
    ),
    "hiding from guards": (
        {
            **BUSY,
            "groups": [
                {**BUSY["groups"][0], "navigation": {"kind": "mesh", "unseen_by": ["guard"]}},
                {"name": "guard", "positions": [[1, 7]], "goals": [{"point": [1, 1]}]},
                *BUSY["groups"][1:],
            ],
        },
        ["bodies.replanning=true"],
        60,
    ),
    "a door": (
        {
            **BUSY,
            "geometry": DOOR,
            "goals": {},
            "groups": [THROUGH],
            "events": [{"at": 1, "close": "door"}, {"at": 2, "open": "door"}],
        },
        [],
        40,
    ),
    "a door on a grid": (
        {**BUSY, "geometry": DOOR, "goals": {}, "groups": [THROUGH], "events": [{"at": 1, "close": "door"}]},
        ["navigation=grid"],
        30,
    ),
    "a door in tiles": (
        {
            **BUSY,
            "geometry": DOOR,
            "goals": {},
            "groups": [THROUGH],
            "events": [
                {"at": 1, "close": "door"},
                {"at": 0.5, "set_radius": 0.3, "agents": [THROUGH["name"]]},
                {"at": 1.2, "remove_tile": [0, 0]},
            ],
        },
        ["navigation.tile_size=4"],
        30,
    ),
    "groups of their own": (
        {
            **BUSY,
            "groups": [{**BUSY["groups"][0], "navigation": "grid", "avoidance": "hrvo"}, *BUSY["groups"][1:]],
        },
        EVERYTHING,
        60,
    ),
    "guesses over cells": (
        SCENARIOS / "office-floor.yaml",
        ["navigation=grid", "navigation.while_waiting=guess", "budget.work=20"],
        40,
    ),
    "corners in free ground": (SCENARIOS / "park.yaml", [], 60),
    "slopes": (SCENARIOS / "bridge.yaml", ["bodies.priority=waiting", *EVERYTHING], 40),
    "stuck for long": (STUCK, [], 290),
    "storeys": (SCENARIOS / "two-storeys.yaml", [], 60),
    "agents come": (
        {
            **BUSY,
            "goals": {**BUSY["goals"], "west": {**BUSY["goals"]["west"], "flow": 0.4}},
            "groups": [
                *BUSY["groups"],
                {**COMES, "name": "few", "arrive": {"rate": 3, "process": "poisson"}},
                {**COMES, "name": "many", "arrive": {"schedule": [[1, 40]]}},
            ],
        },
        EVERYTHING,
        60,
    ),
    "machines of states": (
        {
            **BUSY,
            "goals": {**BUSY["goals"], "table": {"region": {"box": [5.5, 4.5, 11, 7.8]}}},
            "behaviours": MACHINES,
            "queues": TILL,
            "groups": LED,
        },
        EVERYTHING,
        120,
    ),
    "parties": (
        {
            **BUSY,
            "groups": [
                {**COMES, "name": "come", "arrive": {"rate": 3}, "together": {"size": 3}},
                {**BUSY["groups"][0], "together": {"size": 4, "leader": True, "gap": 0.6}},
                {
                    "name": "middle",
                    "positions": [[2.4, 6.5], [3, 7], [5.8, 7.2], [6.4, 7.2]],
                    "goals": ["any"],
                    "together": {"size": 4},
                },
            ],
        },
        [],
        60,
    ),
    "choices": (
        {
            **BUSY,
            "goals": {
                **BUSY["goals"],
                "out": {
                    "quickest_of": ["east", "west"],
                    "gain": 0.1,
                    "knows": "seen",
                    "social_influence": {"worth": 2},
                },
            },
            "groups": [
                {
                    "name": "all",
                    "count": 30,
                    "region": {"box": [0, 0, 12, 8]},
                    "goals": "out",
                    "together": {"size": 3},
                },
                {"name": "led", "count": 3, "region": {"box": [0, 0, 12, 8]}, "behaviour": "leaves"},
            ],
            "behaviours": {"leaves": {"states": {"go": {"leave": "out"}}}},
        },
        EVERYTHING,
        60,
    ),
    "connections": (
        {
            **BUSY,
            "tick": 0.1,
            "geometry": {"walkable": [{"box": [0, 0, 8, 6]}, {"box": [12, 0, 20, 6]}]},
            "goals": {"out": {"exit": {"box": [19, 2, 20, 4]}}},
            "connections": {
                "ferry": {"passage": {"ends": FERRY, "time": 4, "capacity": 2}},
                "lift": {"lift": {"stops": LIFT, "times": [2], "capacity": 3, "dwell": 1}},
                "red door": {"door": {"ends": FERRY, "key": "red", "opening": 0}},
            },
            "groups": [
                {
                    "name": "all",
                    "count": 9,
                    "region": {"box": [0, 0, 6, 6]},
                    "goals": "out",
                    "together": {"size": {"choice": {"values": [1, 3]}}},
                },
                {"name": "keen", "positions": [[6.6, 3]], "goals": "out", "keys": ["red"], "speed": 3},
                {"name": "led", "positions": [[6, 2], [6, 4]], "behaviour": "there"},
            ],
            "behaviours": {
                "there": {
                    "states": {
                        "go": {"go_to": {"point": [18, 1]}, "lasts": 3, "then": "back"},
                        "back": {"go_to": {"point": [1, 1]}, "lasts": 4, "then": "out"},
                        "out": {"leave": "out"},
                    }
                }
            },
        },
        EVERYTHING,
        120,
    ),
    "waypaths": (
        {
            **BUSY,
            "tick": 0.1,
            "geometry": {"walkable": {"box": [0, 0, 20, 6]}},
            "goals": {"out": {"exit": {"box": [19, 2, 20, 4]}}, "in": {"exit": {"box": [0, 2, 1, 4]}}},
            "waypaths": {
                "lane": {"points": [[6, 1], {"at": [9, 1], "wait": 0.5, "crouch": True}, [15, 1]]},
            },
            "groups": [
                {"name": "all", "count": 9, "region": {"box": [2, 0, 7, 6]}, "goals": "out"},
                {"name": "led", "positions": [[7, 2], [5, 1]], "behaviour": "there"},
            ],
            "behaviours": {
                "there": {
                    "states": {
                        "go": {"go_to": {"point": [18, 1]}, "lasts": 3, "then": "back"},
                        "back": {"leave": "in"},
                    }
                }
            },
        },
        EVERYTHING,
        90,
    ),
    "jumps": (
        {
            **BUSY,
            "tick": 0.1,
            "geometry": {"walkable": [{"box": [0, 0, 8, 6]}, {"box": [9, 0, 20, 6]}]},
            "goals": {"out": {"exit": {"box": [19, 2, 20, 4]}}},
            "jumps": {"lasts": 3},
            "groups": [
                {"name": "all", "count": 9, "region": {"box": [2, 0, 7, 6]}, "goals": "out"},
                {"name": "bold", "positions": [[7.6, 3]], "behaviour": "bold"},
            ],
            "behaviours": {
                "bold": {
                    "states": {"jump": {"jump": {"point": [9.3, 3]}, "then": "out"}, "out": {"leave": "out"}}
                }
            },
        },
        EVERYTHING,
        60,
    ),
    "vehicles": (
        {
            **BUSY,
            "tick": 0.1,
            "geometry": {
                "walkable": {"box": [0, 0, 30, 10]},
                "areas": [{"name": "gate", "area": {"box": [20, 0, 20.5, 10]}}],
            },
            "goals": {"out": {"exit": {"box": [27, 2, 30, 8]}}, "up": {"exit": {"box": [12, 9, 16, 10]}}},
            "events": [{"at": 1, "close": "gate"}, {"at": 4, "open": "gate"}],
            "stop": {"after": 12, "stuck_for": 8},
            "groups": [
                {"name": "people", "count": 6, "region": {"box": [11, 0, 16, 3]}, "goals": "up"},
                {
                    "name": "carts",
                    "positions": [[3, 5], [7, 5]],
                    "goals": "out",
                    "vehicle": {"length": 2, "width": 1, "turning_radius": 2, "heading": [1, 0]},
                },
            ],
        },
        EVERYTHING,
        120,
    ),
    "all stuck": (SCENARIOS / "goal-in-closed-room.yaml", [], 60),
}
# Values that no system writes, in columns that are only written: nan of an unusual kind, and numbers that are
# no entity, index or code.
BLANK = {
    "float64": np.uint64(0xFFF8_0000_0BAD_0BAD).view(np.float64),
    "float32": np.uint32(0xFFC0_0BAD).view(np.float32),
    **dict.fromkeys(("int64", "int32", "int16"), -2),
    "uint64": 0xBAD0_BAD0_BAD0,
    "uint8": 0xEE,
}
# Looked at in no scene here: agents that have strayed from their corridors, entrances on storeys, and members
# of a party whose common exit is closed.
RARELY = {
    "Agree": {"itinerary"},
    "Route": {"waits", "layer"},
    "Enter": {"layer"},
    "Walk": {"entity", "group"},
}


def scene(name):
    document, sets, ticks = SCENES[name]
    scenario = (
        parse_scenario(json.dumps(document), file=name, sets=sets)
        if isinstance(document, dict)
        else load_scenario(document, sets=sets)
    )
    return scenario, ticks


class Looked(DeclaredColumns):
    """Notes what is looked at, and lets kernels write to a column that is only written where it holds nothing
    of use: what they read of it is wrong.
    """

    def __init__(self, *given, **more):
        super().__init__(*given, **more)
        self.__dict__["looked"], self.__dict__["_blank"] = set(), {}

    def __getattr__(self, name):
        if name in self._whole.columns:
            self.looked.add(name)
        elif name in ROWS:
            self._take_written()
        return super().__getattr__(name)

    def _write_only(self, name):
        if name not in self._blank:
            self._blank[name] = np.full_like(
                getattr(self._whole, name), BLANK[self._whole.columns[name].dtype]
            )
        column = self._blank[name].view(WriteOnly)
        column.of = (self._system, name)
        return column

    def _take_written(self):
        for name, array in self._blank.items():
            bits, blank = (
                array.view(f"u{array.itemsize}"),
                np.full(1, BLANK[str(array.dtype)], dtype=array.dtype).view(f"u{array.itemsize}"),
            )
            np.copyto(getattr(self._whole, name), array, where=bits != blank)
        self._blank.clear()

    def begin(self):
        self._blank.clear()
        super().begin()

    def check(self):
        self._take_written()
        super().check()


@cache  # workers of pytest share the scenes out
def looked_at(name):
    """Run a scene with every system held to its declaration;
    return what each looked at, and the digest of the run.
    """
    scenario, ticks = scene(name)
    with Simulation(scenario) as run:
        world = run.world
        held = [
            Looked(world.agents, each.name, each.reads, each.writes, changes_rows=True)
            for each in run.systems
        ]
        for number in range(1, ticks):
            tick = Tick(number, scenario.tick, run.team)
            for system, columns in zip(run.systems, held, strict=True):
                with columns_declared(world, columns):
                    system.process(tick)
            world.tick = number
        return {
            kind.__name__: columns.looked for kind, columns in zip(TICK_ORDER, held, strict=True)
        }, run.digest


@pytest.fixture(scope="module")
def looked():
    found = defaultdict(set)
    for systems, _ in map(looked_at, SCENES):
        for system, columns in systems.items():
            found[system] |= columns
    return found


def test_what_is_only_written_holds_nothing_of_use_and_rows_that_are_not_written_stay():
    with simulation() as run:
        agents = run.world.agents
        before = agents.velocity.copy()
        columns = Looked(agents, "Own", (), ("velocity", "activity"))
        array = columns.velocity.view(np.ndarray)
        assert np.isnan(array).all() and (columns.activity.view(np.ndarray) == 0xEE).all()
        columns.velocity[1] = 3.0, np.nan
        np.copyto(columns.velocity, 4.0, where=np.arange(len(agents))[:, None] == 2)
        columns.check()
        assert (
            agents.velocity[1, 0] == 3.0
            and np.isnan(agents.velocity[1, 1])
            and agents.velocity[2].tolist() == [4.0, 4.0]
        )
        assert np.array_equal(np.delete(agents.velocity, (1, 2), axis=0), np.delete(before, (1, 2), axis=0))


@pytest.mark.parametrize("name", SCENES)
def test_no_kernel_reads_a_column_that_its_system_declares_only_to_write(name):
    """A run in which such columns hold nothing of use goes as any other does."""
    scenario, ticks = scene(name)
    with Simulation(scenario) as run:
        for _ in range(1, ticks):
            run.step()
        assert run.digest == looked_at(name)[1]


def test_systems_read_and_write_only_what_they_declare_and_look_at_all_of_it(looked):
    left = {kind.__name__: set(kind.reads) - looked[kind.__name__] for kind in TICK_ORDER}
    assert {name: columns for name, columns in left.items() if columns} == RARELY


def test_only_one_module_knows_esper():
    from tests.crowds import ROOT

    importers = [
        path
        for path in (ROOT / "crowdsim").rglob("*.py")
        if "import esper" in path.read_text(encoding="utf-8")
    ]
    assert [path.name for path in importers] == ["entities.py"]
