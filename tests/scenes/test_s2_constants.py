"""Every constant of [Pathfinding undated] is a parameter with its value,
and changing it changes what agents do; the table in docs/learn/grid.md is this one.
"""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import shapely

from crowdsim.scenario.parameters import parameter_rows
from crowdsim.scenario.schema import MetShape
from crowdsim.world.events import EventKind
from tests.crowds import ROOT, room, simulation

DOCUMENT = "navigation={kind: s2-grid}"
TABLE_M = shapely.box(-1, -1.5, 1, 1.5)
OBSTACLE = [[list(point) for point in TABLE_M.exterior.coords[:-1]]]
BOTH = ["bodies.nudging=true", "bodies.replanning=true"]


@dataclass
class Seen:
    """What a run showed."""

    corners: list  # (agent, next corner) whenever it changed
    places: list  # positions of all agents after each tick
    events: list  # (tick, entity, kind, value, x, y)
    counts: dict[str, float]
    verdict: Any
    headings: list
    z: float

    def of(self, kind):
        return [event for event in self.events if event[2] == kind]


def seen(document, sets, ticks=1200):
    corners, places, events, headings, counts, last = [], [], [], [], {}, {}
    with simulation(document, sets=[DOCUMENT, *sets]) as run:
        z = float(run.world.heights()[0])
        while not run.why_over() and run.tick < ticks:
            events += [
                (int(e.tick), int(e.entity), int(e.kind), int(e.value), float(e.x), float(e.y))
                for e in run.step()
            ]
            agents = run.world.agents
            for entity, corner in zip(agents.entity.tolist(), agents.next_corner.tolist(), strict=True):
                if last.get(entity) != corner:
                    last[entity] = corner
                    corners.append((entity, *corner))
            places.append(agents.position.copy())
            headings.append(agents.heading.copy())
            for name, value in run.counts.items():
                counts[name] = (
                    max(counts.get(name, 0.0), value)
                    if name.startswith("deepest")
                    else counts.get(name, 0.0) + value
                )
        return Seen(corners, places, events, counts, run.verdict(), headings, z)


def round_the_table(**more):
    return room(
        [{"position": [-5, 0.1], "goals": [{"point": [5, 0], "arrive_within": 0.3}], "radius": 0.2, **more}],
        obstacles=OBSTACLE,
    )


def field():
    """Boxes, and walkers between them."""
    rng = np.random.default_rng(4)
    boxes = [
        [[x, y], [x + 0.9, y], [x + 0.9, y + 0.7], [x, y + 0.7]]
        for x in np.arange(-8, 8, 3.3)
        for y in np.arange(-8, 8, 3.1) + rng.uniform(0, 0.6)
    ]
    walkers = [
        {"position": [-9.2, y], "goals": [{"point": [9.2, -y + 0.7], "arrive_within": 0.3}]}
        for y in np.arange(-8.0, 8.1, 2.0)
    ]
    return room(walkers, obstacles=np.round(boxes, 3).tolist())


def dead_end():
    """A room and a corridor that is too narrow for cells, with the goal 5 m inside."""
    document = room(
        [{"position": [1, 2], "radius": 0.2, "goals": [{"point": [9, 2], "arrive_within": 0.3}]}], after=40
    )
    sides = [{"box": [5, 1, 9.5, 1.6]}, {"box": [5, 2.4, 9.5, 3]}]
    return document | {
        "geometry": {"walkable": [{"box": [0, 0, 4, 4]}, {"box": [4, 1, 9.5, 3]}], "obstacles": sides}
    }


def past_a_stander():
    return room(
        [
            {"position": [-5, 0], "goals": [{"point": [5, 0], "arrive_within": 0.3}]},
            {"position": [0.1, 0.9], "radius": 0.9},
        ]
    )


def far_stander():
    """It stands 5 m off the line, and is so wide that it blocks it."""
    return room(
        [
            {"position": [-8, 0], "goals": [{"point": [8, 0], "arrive_within": 0.3}]},
            {"position": [0, 5], "radius": 9.0},
        ],
        size=60.0,
    )


def two_targets():
    """Two goals one after the other, 0.6 m apart, further than 0.25 m."""
    return room(
        [
            {
                "position": [-5, 0],
                "goals": [{"point": [0, 0], "arrive_within": 0.1}, {"point": [0.6, 0], "arrive_within": 0.1}],
            }
        ]
    )


def storey(elevation=0.0):
    document = round_the_table()
    half = {"walkable": {"box": [-10, -10, 10, 10]}, "name": "hall", "elevation": elevation}
    document["groups"][0] |= {"storey": "hall"}
    document["groups"][0]["agents"][0]["goals"] = ["east"]
    return document | {
        "geometry": {"storeys": [half]},
        "goals": {"east": {"point": [5, 0], "storey": "hall"}},
    }


def bumped(**more):
    stander, walker = (
        {"id": 1, "position": [0, 0], "radius": 0.3},
        {"id": 2, "position": [-3, 0.01], "radius": 0.3, "goals": [{"point": [5, 0.01]}]},
    )
    return room([stander, walker], after=30, **more)


def pile():
    rng = np.random.default_rng(0)
    return room(
        [{"position": point} for point in (rng.uniform(-0.6, 0.6, (16, 2))).tolist()],
        after=2.0,
        stop={"after": 2, "when": "never"},
    )


def in_the_way():
    """Walkers cross people who stand; who stands in the line keeps cutting it."""
    rng = np.random.default_rng(3)
    idle = [
        {"position": [x + float(rng.uniform(-0.2, 0.2)), y + float(rng.uniform(-0.2, 0.2))]}
        for x in np.arange(-3, 3.1, 0.9)
        for y in np.arange(-3, 3.1, 0.9)
    ]
    walkers = [{"position": [-4.5, -3 + i], "goals": [{"point": [4.5, 3 - i]}]} for i in range(7)]
    return room([*idle, *walkers], size=10.0, after=25, tick=0.1)


def talk(**more):
    document = room(
        [{"id": 1, "position": [-5, 0], "goals": [{"point": [5, 0]}]}, {"id": 2, "position": [0, 0.5]}]
    )
    document["geometry"]["areas"] = [{"name": "hatch", "area": {"box": [8, 8, 9, 9]}, "available": False}]
    return document | {"events": [{"when": {"met": [1, 2], **more}, "open": "hatch"}]}


def first_length(run):
    return run.of(EventKind.PATH_FOUND)[0][4]


def off_the_table(run):
    """How near the first agent came to the table (m)."""
    return min(TABLE_M.distance(shapely.Point(places[0])) for places in run.places if len(places))


def longest_turn(run):
    return max(
        float(np.arccos(np.clip((a[:1] * b[:1]).sum(), -1.0, 1.0)))
        for a, b in zip(run.headings, run.headings[1:], strict=False)
        if len(b)
    )


def gap_between_replans(run):
    ticks: dict[int, list[int]] = {}
    for tick, entity, *_ in run.of(EventKind.REPLANNED):
        ticks.setdefault(entity, []).append(tick)
    return min(int(np.diff(each).min()) for each in ticks.values() if len(each) > 1)


def step_aside(run):
    tick, *_, x, y = run.of(EventKind.NUDGED)[0]
    return float(np.hypot(*(run.places[tick - 2][0] - (x, y))))


def distance_at_opening(run):
    tick = run.of(EventKind.AREA_OPENED)[0][0]
    return float(np.hypot(*(run.places[tick - 2][0] - run.places[tick - 2][1])))


def first_corner_away(run):
    _, x, y = run.corners[0]
    return float(np.hypot(x + 5.0, y - 0.1))


def along_the_edge():
    """A passage between a wall and the edge of the hall."""
    walker = {"position": [-8, 9.2], "goals": [{"point": [8, 9.2], "arrive_within": 0.3}]}
    return room([walker], obstacles=[[[-0.5, -9.5], [0.5, -9.5], [0.5, 8], [-0.5, 8]]])


def waypoints(run):
    return [(round(x, 6), round(y, 6)) for _, x, y in run.corners]


# constant of the document, section, its value, parameter, (scene, settings, changed settings, what is seen,
# how the second differs from the first)
CONSTANTS = [
    (
        "cellSize",
        "1",
        0.4,
        "navigation.s2-grid.cell_size",
        (round_the_table, [], ["navigation.cell_size=0.3"], waypoints, lambda a, b: a != b),
    ),
    (
        "agentRadius",
        "1",
        0.45,
        "navigation.s2-grid.agent_radius",
        (round_the_table, [], ["navigation.agent_radius=0.85"], off_the_table, lambda a, b: b > a + 0.15),
    ),
    (
        "objectPadding",
        "1",
        0.25,
        "navigation.s2-grid.object_padding",
        (round_the_table, [], ["navigation.object_padding=0.65"], off_the_table, lambda a, b: b > a + 0.15),
    ),
    (
        "boundaryPadding",
        "1",
        0.0,
        "navigation.s2-grid.boundary_padding",
        (
            along_the_edge,
            [],
            ["navigation.boundary_padding=1.4"],
            lambda run: run.verdict.arrived,
            lambda a, b: (a, b) == (1, 0),
        ),
    ),
    (
        "floorY",
        "1",
        0.0,
        "geometry.storeys[].elevation",
        (
            storey,
            [],
            ["geometry.storeys.0.elevation=3.5"],
            lambda run: run.z,
            lambda a, b: (a, b) == (0.0, 3.5),
        ),
    ),
    (
        "radius of snapping",
        "3",
        8.0,
        "navigation.s2-grid.snap_distance",
        (
            dead_end,
            [],
            ["navigation.snap_distance=2"],
            lambda run: run.verdict.arrived,
            lambda a, b: (a, b) == (1, 0),
        ),
    ),
    (
        "trimming of the first waypoint",
        "3",
        0.75,
        "navigation.s2-grid.first_waypoint_trim",
        (
            round_the_table,
            [],
            ["navigation.first_waypoint_trim=0"],
            first_corner_away,
            lambda a, b: b < 0.3 < a,
        ),
    ),
    (
        "step of a line of sight",
        "4",
        0.5,
        "navigation.s2-grid.sight_step",
        (field, [], ["navigation.sight_step=0.02"], waypoints, lambda a, b: a != b),
    ),
    (
        "way of a line of sight",
        "4",
        "sampled",
        "navigation.s2-grid.sight",
        (field, [], ["navigation.sight=exact"], waypoints, lambda a, b: a != b),
    ),
    (
        "kDynamicObstacleInfluenceDist",
        "6, 10",
        6.0,
        "navigation.s2-grid.obstacle_reach",
        (far_stander, [], ["navigation.obstacle_reach=4"], first_length, lambda a, b: b < a - 0.02),
    ),
    (
        "kDynamicObstacleRadiusFraction",
        "6, 10",
        0.6,
        "navigation.s2-grid.obstacle_radius_share",
        (
            past_a_stander,
            [],
            ["navigation.obstacle_radius_share=1.6"],
            first_length,
            lambda a, b: b > a + 0.02,
        ),
    ),
    (
        "walkSpeed",
        "7",
        None,
        "groups[].speed",
        (
            round_the_table,
            ["groups.0.speed=1.0"],
            ["groups.0.speed=2.0"],
            lambda run: run.verdict.last_arrival_s,
            lambda a, b: abs(a - 2.0 * b) < 0.5,
        ),
    ),
    (
        "rotationSpeed",
        "7",
        None,
        "bodies.rotation_speed",
        (
            round_the_table,
            ["bodies.rotation_speed=3"],
            ["bodies.rotation_speed=1"],
            longest_turn,
            lambda a, b: a > 0.149 and b < 0.051,
        ),
    ),
    (
        "WALK_THRESHOLD",
        "7, 10",
        0.05,
        "navigation.s2-grid.waypoint_reached",
        (round_the_table, [], ["navigation.waypoint_reached=0.8"], off_the_table, lambda a, b: b < a - 0.02),
    ),
    (
        "TARGET_REPLAN_THRESHOLD",
        "7, 10",
        0.25,
        "navigation.s2-grid.same_target",
        (
            two_targets,
            [],
            ["navigation.same_target=1"],
            lambda run: len(run.of(EventKind.PATH_FOUND)),
            lambda a, b: (a, b) == (2, 1),
        ),
    ),
    (
        "kIterations",
        "8, 10",
        3,
        "bodies.passes",
        (
            pile,
            ["bodies.further_passes=0"],
            ["bodies.passes=0"],
            lambda run: run.counts["deepest_overlap_m"],
            lambda a, b: b > a + 0.01,
        ),
    ),
    (
        "kNudgeDist",
        "8, 10",
        1.2,
        "bodies.nudge_distance",
        (
            bumped,
            [*BOTH, "avoidance=none"],
            ["bodies.nudge_distance=0.7"],
            step_aside,
            lambda a, b: (round(a, 2), round(b, 2)) == (1.2, 0.7),
        ),
    ),
    (
        "kMovedEps",
        "9",
        0.05,
        "bodies.replan_moved",
        (
            in_the_way,
            BOTH,
            ["bodies.replan_moved=3"],
            lambda run: run.counts["replan_triggers"],
            lambda a, b: 0 < b < a,
        ),
    ),
    (
        "kReplanTriggerDist",
        "9, 10",
        1.8,
        "bodies.replan_trigger",
        (
            in_the_way,
            BOTH,
            ["bodies.replan_trigger=0.2"],
            lambda run: run.counts["replan_triggers"],
            lambda a, b: b < a,
        ),
    ),
    (
        "kReplanCooldownMs",
        "9, 10",
        0.5,
        "bodies.replan_cooldown",
        (
            in_the_way,
            [*BOTH, "bodies.nudging=false"],
            ["bodies.replan_cooldown=2"],
            gap_between_replans,
            lambda a, b: 5 <= a < 20 <= b,
        ),
    ),
    (
        "NPC_TALK_DISTANCE",
        "10",
        1.35,
        "events[].when.within",
        (
            talk,
            [],
            ["events.0.when.within=3"],
            distance_at_opening,
            lambda a, b: 1.25 < a <= 1.35 and 2.9 < b <= 3.0,
        ),
    ),
]


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("constant", "section", "value", "parameter", "case"), CONSTANTS, ids=[row[0] for row in CONSTANTS]
)
def test_a_constant_is_a_parameter_with_that_default_and_takes_effect(
    constant, section, value, parameter, case
):
    defaults = {row["name"]: row["default"] for row in parameter_rows()} | {
        "events[].when.within": MetShape.model_fields["within"].default,
        "geometry.storeys[].elevation": 0.0,
    }
    assert value is None or defaults[parameter] == value
    scene, sets, changed, see, differs = case
    usual, other = see(seen(scene(), sets)), see(seen(scene(), [*sets, *changed]))
    assert differs(usual, other), (usual, other)


def test_the_table_of_the_page_is_this_one():
    page = (ROOT / "docs" / "learn" / "grid.md").read_text(encoding="utf-8")
    rows = [
        [cell.strip().strip("`") for cell in line.strip("|").split("|")]
        for line in page.split("<!-- constants -->\n")[1].split("\n\n")[0].splitlines()[2:]
    ]
    told = {row[0]: (row[1], row[2].split(" ")[0], row[3]) for row in rows}
    for constant, section, value, parameter, _ in CONSTANTS:
        text = "none" if value is None else f"{value:g}" if isinstance(value, (int, float)) else value
        assert told.pop(constant) == (section, text, parameter)
    assert not told
    assert len(rows) == len(CONSTANTS) and all(re.fullmatch(r"\d+(, \d+)?", row[1]) for row in rows)


def test_where_a_default_of_ours_is_another_the_kind_s2_grid_has_that_of_the_document():
    rows = {row["name"]: row["default"] for row in parameter_rows()}
    ours = {
        name.removeprefix("navigation.grid."): value
        for name, value in rows.items()
        if name.startswith("navigation.grid.")
    }
    theirs = {
        name.removeprefix("navigation.s2-grid."): value
        for name, value in rows.items()
        if name.startswith("navigation.s2-grid.")
    }
    assert ours.keys() == theirs.keys()
    assert {name: (ours[name], theirs[name]) for name in ours if ours[name] != theirs[name]} == {
        "agent_radius": (0.0, 0.45),
        "heuristic": ("octile", "euclidean"),
        "share_searches": (True, False),
        "sight": ("exact", "sampled"),
        "keep_off_edges": (True, False),
    }
