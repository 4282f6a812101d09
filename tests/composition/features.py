"""The features that are combined, each as a choice of some axis, and the small world that has them.

The world is two rooms with two doorways between them and, behind, more ground: level, a stair to another
storey, or a ramp of a surface or of a soup of triangles in space. People go from the left to the right, a
few the other way, and one stands.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from itertools import combinations
from typing import Any

TICK_S = 0.1
TICKS, MORE_TICKS = 80, 240
CLOSES_S, OPENS_S = 2.0, 5.0
STANDS_AFTER_S = 0.5
AREA_M = 3.0  # side of areas, so that there are several
TILE, TILE_M = (2, 0), 4.0  # that goes and comes as the door does by the clock
WIDER_S, WIDER = 1.5, 0.27  # when and to what radius those become wider that go right; m

# Each axis with its choices; the first is that of a scenario which says nothing.
AXES: dict[str, tuple[str, ...]] = {
    "planner": ("default", "mesh", "optimal", "visibility", "hierarchical", "grid", "s2-grid"),
    "ground": ("level", "storeys", "surface", "soup", "soup with parts"),
    "doors": ("none", "by the clock", "by a line", "by a meeting"),
    "obstacles": ("none", "passes", "stands", "turns"),
    "terrain": ("none", "slow"),
    "tiles": ("none", "of 4 m", "one goes and comes"),
    "avoidance": ("orca", "clearpath", "hrvo", "sampled-hrvo", "toi", "none"),
    "curves": ("none", "bezier"),
    "waiting": ("guess", "previous", "stay"),
    "stationary": ("none", "paths round them", "local grid"),
    "watchers": ("none", "unseen", "that walk"),
    "ground kinds": ("none", "forbidden", "priced"),
    "speed law": ("none", "weidmann"),
    "groups": ("alike", "with a planner of their own"),
    "radii": ("none", "wider by the clock"),
    "arrivals": ("none", "come in"),
    "behaviour": ("none", "machines"),
    "together": ("none", "parties"),
    "exits": ("none", "chosen"),
    "connections": ("none", "a passage", "a lift", "a drop", "a jump", "a waypath"),
}
IN_SPACE = ("surface", "soup", "soup with parts")
LATE = ("exits", "curves")  # with a choice of these agents come late to a connection
ASKS_AGAIN = ("exits", "connections")  # with a choice of these agents ask for paths again and again,
CUTS_UP = ("terrain", "tiles", "ground kinds")  # and with one of these the ground has more polygons
Choices = Mapping[str, str]

DOOR = [7.0, 2.0, 7.2, 4.0]
SLOW = [8.0, 0.0, 10.0, 6.0]  # from wall to wall: all that go right walk over it
SLOW_SPEED = 0.5
BED = [5.7, 0.6, 6.5, 2.6]  # of flowers, before the door
BED_PRICE = 20.0
STANDING_AT, STANDING_RADIUS = (9.0, 3.0), 0.4
SIDE = [10.8, 5.3, 12.0, 6.0]  # a turnstile in the right room, nearer than the exit behind it
ENTRANCE = [0.3, 0.3, 2.5, 2.0]
MEETING_POINT = [6.0, 3.0]  # to which machines send those that go right, before they leave
PARTY, PATIENCE_S = 3, 3.0  # members of a party, and for how long they wait for each other
OUT = 4  # number of the state in which they do
# From the room on the left over the wall to the ground behind the ramp.
GATE, GATE_BEHIND = [5.2, 4.6, 6.4, 5.8], [13.2, 4.6, 14.4, 5.8]
CAPACITY, RIDE_S = 1, 0.5
WAYPATH: list[Any] = [
    [3.0, 1.0],
    {"at": [4.0, 0.6], "wait": 0.3},
    {"at": [5.0, 1.6], "crouch": True},
    [6.2, 3.0],
]
BEFORE_BED = 2  # The waypoint from which on the line leads over the bed.
GAP = 2  # The second doorway among the rooms: its triangles come and go.
_ROOMS = [[0, 0, 7, 6], DOOR, [7.0, 4.8, 7.2, 5.8], [7.2, 0, 12, 6]]


def ticks_of(choices: Mapping[str, str]) -> int:
    """Return for how long a combination runs: longer where agents come late to a lift, since they
    choose their exits anew in a crowd, or walk along curves.
    """
    is_late = any(choices[axis] != "none" for axis in LATE)
    return MORE_TICKS if choices["connections"] != "none" and is_late else TICKS


def plain() -> dict[str, str]:
    """Return the choices of a scenario that says nothing."""
    return {axis: choices[0] for axis, choices in AXES.items()}


def features() -> list[tuple[str, str]]:
    """Return all features: an axis with a choice of it that is not the first."""
    return [(axis, choice) for axis, choices in AXES.items() for choice in choices[1:]]


def pairs() -> list[tuple[tuple[str, str], tuple[str, str]]]:
    """Return all pairs of features of two axes."""
    return [(a, b) for a, b in combinations(features(), 2) if a[0] != b[0]]


def drawn(count: int, seed: int) -> list[dict[str, str]]:
    """Return combinations drawn at random: each axis has each of its choices equally often in the mean."""
    chance = random.Random(seed)
    return [{axis: chance.choice(choices) for axis, choices in AXES.items()} for _ in range(count)]


def _box(x0: float, y0: float, x1: float, y1: float) -> dict[str, Any]:
    return {"box": [x0, y0, x1, y1]}


def _geometry(choices: Choices) -> dict[str, Any]:
    rooms = [_box(*box) for box in _ROOMS]
    if choices["ground"] == "storeys":
        geometry: dict[str, Any] = {
            "storeys": [
                {"name": "low", "elevation": 0.0, "walkable": rooms},
                {"name": "high", "elevation": 0.6, "walkable": _box(13, 0, 18, 6)},
            ],
            "connections": [
                {
                    "name": "ramp",
                    "kind": "ramp",
                    "lower": "low",
                    "upper": "high",
                    "foot": [[12, 1], [12, 5]],
                    "head": [[13, 1], [13, 5]],
                }
            ],
        }
    elif choices["ground"] in IN_SPACE:
        flat = [[*box, 0.0, 0.0] for box in _ROOMS]
        faces = [
            [[x0, y0, low], [x1, y0, high], [x1, y1, high], [x0, y1, low]]
            for x0, y0, x1, y1, low, high in [*flat, [12, 1, 13, 5, 0.0, 0.6], [13, 0, 18, 6, 0.6, 0.6]]
        ]
        geometry = {"surface": {"polygons": faces}}
        if choices["ground"] != "surface":
            halves = [half for a, b, c, d in faces for half in ([a, b, c], [c, d, a])]
            soup = {"triangles": halves, "seeds": [[1.1, 1.1, 0.0]], "body": {"side": 0.2}}
            if choices["ground"] == "soup with parts":
                soup["materials"] = ["gap" if place // 2 == GAP else "rest" for place in range(len(halves))]
                soup["parts"] = {"gap": {}}
            geometry = {"soup": soup}
    else:
        geometry = {"walkable": [*rooms, _box(12, 1, 13, 5), _box(13, 0, 18, 6)]}
    if choices["doors"] != "none":
        geometry["areas"] = [{"name": "door", "area": _box(*DOOR), **_at(choices, 0)}]
    terrain = []
    if choices["terrain"] == "slow":
        terrain.append({"name": "gravel", "speed": SLOW_SPEED, "area": _box(*SLOW), **_at(choices, 0)})
    if choices["ground kinds"] != "none":
        terrain.append({"name": "bed", "area": _box(*BED), **_at(choices, 0)})
    if terrain:
        geometry["terrain"] = terrain
    return geometry


def _at(choices: Choices, floor: int) -> dict[str, Any]:
    """Return what says on which floor something lies."""
    if choices["ground"] == "storeys":
        return {"storey": ("low", "high")[floor]}
    return {"height": 0.6 * floor} if choices["ground"] in IN_SPACE else {}


def _navigation(choices: Choices) -> dict[str, Any]:
    said: dict[str, Any] = {}
    if choices["planner"] != "default":
        said["kind"] = choices["planner"]
    if choices["planner"] == "hierarchical":
        said["area_size"] = AREA_M
    if choices["tiles"] != "none":
        said["tile_size"] = TILE_M
    if choices["curves"] != "none":
        said["smoothing"] = choices["curves"]
    if choices["waiting"] != "guess":
        said["while_waiting"] = choices["waiting"]
    if choices["stationary"] == "paths round them":
        said["round_stationary"] = True
    if choices["watchers"] == "unseen":
        said["unseen_from"] = [[4.0, 0.5, *([0.0] if choices["ground"] == "storeys" else [])]]
    if choices["ground kinds"] == "forbidden":
        said["forbid"] = ["bed"]
    elif choices["ground kinds"] == "priced":
        said["prices"] = {"bed": BED_PRICE}
    if choices["planner"] == "grid":
        said |= {"cell_size": 0.1, "object_padding": 0.02}
    return said


def _obstacles(choices: Choices) -> list[dict[str, Any]]:
    cart: dict[str, Any] = {"name": "cart", "shape": {"disc": STANDING_RADIUS}, **_at(choices, 0)}
    if choices["obstacles"] == "passes":
        return [{**cart, "path": [[9, 1], [9, 5]], "speed": 0.8, "loop": True}]
    if choices["obstacles"] == "stands":
        return [{**cart, "path": [[11, 3], list(STANDING_AT)], "speed": 2.0, "stands_after": STANDS_AFTER_S}]
    corners = [[-0.5, -0.3], [0.5, -0.3], [0.5, 0.3], [-0.5, 0.3]]
    return [{**cart, "shape": {"polygon": corners}, "path": [[9, 3]], "turns": 0.6}]


def _events(choices: Choices) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    if choices["doors"] == "by the clock":
        found += [{"at": CLOSES_S, "close": "door"}, {"at": OPENS_S, "open": "door"}]
    elif choices["doors"] == "by a line":
        found += [{"when": {"crossed": [[5, 0], [5, 6]], "count": 4, **_at(choices, 0)}, "close": "door"}]
    elif choices["doors"] == "by a meeting":
        found += [{"when": {"met": ["right", "left"], "within": 2.0}, "close": "door"}]
    if choices["tiles"] == "one goes and comes":
        tile = {"tile": list(TILE), **_at(choices, 0)} if choices["ground"] != "level" else list(TILE)
        found += [{"at": CLOSES_S, "remove_tile": tile}, {"at": OPENS_S, "add_tile": tile}]
    if choices["ground"] == "soup with parts":
        line = {"crossed": [[5, 0], [5, 6]], "count": 3, **_at(choices, 0)}
        found += [{"when": line, "remove_part": "gap"}, {"at": OPENS_S, "add_part": "gap"}]
    if choices["radii"] != "none":
        found += [{"at": WIDER_S, "set_radius": WIDER, "agents": ["right"]}]
    return found


def _work(choices: Choices) -> int:
    """Return too little work for all at once, so that agents wait for their paths; more where they stand
    still meanwhile, so that they get to where there is something to see.
    """
    work = {"grid": 3000, "s2-grid": 3000, "visibility": 150}.get(choices["planner"], 60)
    # all ask again and again; over ground that is cut up each time for more
    asks_again = any(choices[axis] != "none" for axis in ASKS_AGAIN)
    is_cut_up = any(choices[axis] != "none" for axis in CUTS_UP)
    if choices["watchers"] == "that walk" or (asks_again and is_cut_up):
        work *= 4
    return 5 * work if choices["waiting"] == "stay" else work


def _give_machines(choices: Choices, found: dict[str, Any]) -> None:
    """Let those that go do so as machines of states say: to a point, and through a queue."""
    found["queues"] = {
        "desk": {
            "servers": [[3.5, 1.0]],
            "line": [[3.5, 1.7], [3.5, 3.5]],
            "service": 0.5,
            **_at(choices, 0),
        }
    }
    meet = {"point": MEETING_POINT, "arrive_within": 0.6, **_at(choices, 0)}
    found["behaviours"] = {
        "left": {
            "states": {
                "rest": {"wait": {"uniform": {"low": 0.1, "high": 0.4}}, "then": "ask"},
                "ask": {"queue": "desk", "then": "sit"},
                "sit": {"stay": "west"},
            }
        },
        "right": {"states": {"meet": {"go_to": meet, "then": "out"}, "out": {"leave": "east"}}},
    }
    for group in found["groups"]:
        if group["name"] in found["behaviours"]:
            group["behaviour"] = group["name"]
            for key in ("goals", "leave_on_arrival"):
                group.pop(key, None)


def _give_exits(choices: Choices, found: dict[str, Any]) -> None:
    """Let those that leave choose between the exit and a turnstile, of which some do not know."""
    found["goals"] |= {
        "side": {"exit": _box(*SIDE), "flow": 0.4, **_at(choices, 0)},
        "out": {
            "quickest_of": ["east", "side"],
            "every": 0.4,
            "gain": 0.2,
            "keeps_for": 1,
            "familiar": {"share": 0.2, "only": ["east"]},
            "social_influence": {"worth": 1.5, "within": 4, "share": 0.5},
        },
    }
    for group in found["groups"]:
        if group.get("goals") == ["east"]:
            group["goals"] = ["out"]
    if "behaviours" in found:
        found["behaviours"]["right"]["states"]["out"] = {"leave": "out"}


def _give_jumper(choices: Choices, found: dict[str, Any]) -> None:
    """Let one jump over the wall, and the others follow."""
    begin, end = ([0.5 * (box[0] + box[2]), 0.5 * (box[1] + box[3])] for box in (GATE, GATE_BEHIND))
    found["jumps"] = {
        "capacity": CAPACITY, "headway": 0, "speed": (end[0] - begin[0]) / RIDE_S, "spring": 10,
        "longest": 10, "deepest": 10,
    }  # fmt: skip
    jump = {"point": end, **_at(choices, 1)}
    found.setdefault("behaviours", {})["the jumper"] = {"states": {"jump": {"jump": jump}}}
    found["groups"].append(
        {"name": "jumper", "positions": [begin], "behaviour": "the jumper", **_at(choices, 0)}
    )


def _waypoints(choices: Choices) -> list[Any]:
    """Return those of the line; those that leave it before the bed crouch a waypoint earlier."""
    if choices["ground kinds"] != "forbidden":
        return WAYPATH
    return [
        {**each, "crouch": True} if number == BEFORE_BED - 1 else each for number, each in enumerate(WAYPATH)
    ]


def document(choices: Choices) -> dict[str, Any]:
    """Return the scenario that has these features."""
    navigation = _navigation(choices)
    left: dict[str, Any] = {
        "name": "left",
        "positions": [[10.5, 1.5 + 0.8 * number] for number in range(4)],
        "goals": ["west"],
        "leave_on_arrival": False,
        **_at(choices, 0),
    }
    if choices["watchers"] == "that walk":
        kind = "mesh" if choices["planner"] == "default" else choices["planner"]
        kinds = {key: navigation[key] for key in ("forbid", "prices") if key in navigation}
        watched = {"unseen_by": ["left"], "exposure": 5, "watch_interval": 0.5}
        hiding = {"navigation": {"kind": kind, **watched, **kinds}}
    else:
        hiding = {}
    if choices["groups"] == "with a planner of their own":
        left["navigation"] = {"kind": "mesh", "costs": "length"}
    found: dict[str, Any] = {
        "version": 1,
        "name": "composition",
        "seed": 3,
        "tick": TICK_S,
        "stop": {"after": ticks_of(choices) * TICK_S, "when": "never"},
        "geometry": _geometry(choices),
        "goals": {
            "east": {"exit": _box(17, 1, 18, 5), **_at(choices, 1)},
            "west": {"region": _box(0.5, 2, 2.5, 5), **_at(choices, 0)},
        },
        "groups": [
            {
                "name": "right",
                "positions": [[1.5 + 1.2 * (number % 4), 1.2 + 1.5 * (number // 4)] for number in range(10)],
                "goals": ["east"],
                "speed": 1.5,
                "radius": {"uniform": {"low": 0.18, "high": 0.24}},
                **hiding,
                **_at(choices, 0),
            },
            left,
            {"name": "standing", "positions": [[7.8, 3.0]], **_at(choices, 0)},
        ],
        "budget": {"work": _work(choices)},
        "record": {"rate": 1.0 / TICK_S},
    }
    if choices["arrivals"] != "none":
        found["groups"].append(
            {
                "name": "flow",
                "region": _box(*ENTRANCE),
                "goals": ["east"],
                "speed": 1.5,
                "arrive": {"rate": 2},
                **_at(choices, 0),
            }
        )
    if choices["together"] != "none":
        for group in found["groups"]:
            if "goals" in group:
                group["together"] = {
                    "size": PARTY, "leader": group["name"] == "right", "gap": 1.5, "patience": PATIENCE_S,
                }  # fmt: skip
    if choices["behaviour"] != "none":
        _give_machines(choices, found)
    if choices["exits"] != "none":
        _give_exits(choices, found)
    if choices["connections"] == "a jump":
        _give_jumper(choices, found)
    elif choices["connections"] == "a waypath":
        found["waypaths"] = {"line": {"points": _waypoints(choices), "factor": 0.3, **_at(choices, 0)}}
    elif choices["connections"] != "none":
        ends = [{"area": _box(*box), **_at(choices, floor)} for floor, box in enumerate((GATE, GATE_BEHIND))]
        found["connections"] = {
            "a passage": {
                "over": {
                    "passage": {"ends": ends, "time": RIDE_S, "capacity": CAPACITY, "knows": "seen"},
                }
            },
            "a lift": {
                "over": {
                    "lift": {
                        "stops": ends, "times": [RIDE_S], "capacity": CAPACITY, "doors": 0.1, "dwell": 0.2,
                        "transfer": 0.1,
                    }
                }
            },
            "a drop": {"over": {"drop": {"ends": ends, "fall": 9.81 * RIDE_S**2 / 2}}},
        }[choices["connections"]]  # fmt: skip
    if choices["obstacles"] != "none":
        found["obstacles"] = _obstacles(choices)
    if events := _events(choices):
        found["events"] = events
    if choices["avoidance"] != "orca":
        found["avoidance"] = choices["avoidance"]
    if choices["speed law"] != "none":
        found["speed_density"] = choices["speed law"]
    if choices["stationary"] == "local grid":
        found["bodies"] = {"local_grid": True}
    if navigation:
        found["navigation"] = navigation
    return found
