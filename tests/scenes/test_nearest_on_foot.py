"""Goals of several parts, and the nearest of several goals, over cells:
the nearest on foot is gone to, whatever lies nearest as the crow flies.
"""

import itertools
import json

import numpy as np
import pytest
import shapely

from crowdsim.navigation.goals.targets import points_of
from crowdsim.scenario.load import parse_scenario
from crowdsim.setup.build import build_world
from crowdsim.setup.paths import lines_of
from crowdsim.simulation.simulation import Simulation
from crowdsim.world.columns import PathStatus

KINDS = ("grid", "s2-grid")

# A wall of 12 m with a way round its far end: from the start "behind" is 3 m off as the crow flies and 21 m
# on foot, "near" 6.7 m both ways.
WALL = {
    "version": 1,
    "name": "wall",
    "tick": 0.05,
    "stop": {"after": 60},
    "geometry": {"walkable": {"box": [0, 0, 14, 10]}, "obstacles": [{"box": [2, 5, 14, 5.4]}]},
    "goals": {
        "behind": {"region": {"box": [11, 6, 13, 8]}},
        "near": {"region": {"box": [4, 0.4, 6, 1.6]}},
        "either": {"nearest_of": ["behind", "near"]},
        "parts": {"region": [{"box": [11, 6, 13, 8]}, {"box": [4, 0.4, 6, 1.6]}]},
    },
    "groups": [{"name": "walker", "positions": [[12, 4]], "speed": 1.3, "goals": ["either"]}],
    "record": {"rate": 10},
}
# Two rooms beside a hall, each with a door: "left" is nearer.
ROOMS = {
    **WALL,
    "geometry": {
        "walkable": [
            {"box": [0, 0, 14, 4]},
            {"box": [0, 4.4, 6, 8]},
            {"box": [8, 4.4, 14, 8]},
            {"box": [4, 4, 5.6, 4.4]},
            {"box": [8.4, 4, 10, 4.4]},
        ],
        "areas": [
            {"name": "left door", "area": {"box": [4, 4, 5.6, 4.4]}},
            {"name": "right door", "area": {"box": [8.4, 4, 10, 4.4]}},
        ],
    },
    "goals": {
        "left": {"region": {"box": [0, 5, 6, 8]}},
        "right": {"region": {"box": [8, 5, 14, 8]}},
        "any": {"nearest_of": ["left", "right"]},
    },
    "groups": [{"name": "walker", "positions": [[4.8, 1]], "speed": 1.3, "goals": ["any"]}],
}


def run_of(document, kind, sets=()):
    return Simulation(
        parse_scenario(json.dumps(document), file="t", sets=[f"navigation={kind}", *sets]), threads=1
    )


@pytest.mark.sample(1)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("goal", ["either", "parts"])
def test_who_stands_behind_a_wall_from_the_nearest_goes_to_the_one_that_is_nearest_on_foot(kind, goal):
    with run_of(WALL, kind, [f"groups.0.goals={goal}"]) as run:
        verdict = run.run()
        assert verdict.arrived == 1 and verdict.last_arrival_s < 7.0


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_and_the_look_before_it_mean_the_same_way(kind):
    built = build_world(parse_scenario(json.dumps(WALL), file="t", sets=[f"navigation={kind}"]))
    (line,) = lines_of(built, 10)
    assert np.hypot(*np.diff(line.points, axis=0).T).sum() < 9.0 and line.points[-1, 0] < 6.5


@pytest.mark.sample(1)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("closed_at", "where"), [(None, "left"), (0.0, "right"), (1.0, "right")])
def test_a_door_that_closes_sends_everybody_to_the_next(kind, closed_at, where):
    events = [] if closed_at is None else [{"at": closed_at, "close": "left door"}]
    with run_of({**ROOMS, "events": events}, kind) as run:
        assert run.run().arrivals == {where: 1}


@pytest.mark.sample(1)
@pytest.mark.parametrize("kind", KINDS)
def test_where_all_doors_are_shut_one_goes_as_near_as_can_be_and_in_when_one_opens(kind):
    areas = [{**area, "available": False} for area in ROOMS["geometry"]["areas"]]
    shut = {
        **ROOMS,
        "geometry": {**ROOMS["geometry"], "areas": areas},
        "events": [{"at": 8, "open": "right door"}],
    }
    with run_of(shut, kind) as run:
        while run.time < 7.5:
            run.step()
        assert (
            run.world.agents.path_status[0] == PathStatus.NEAREST_REACHABLE
            and run.world.agents.position[0, 1] > 3.0
        )
        assert run.run().arrivals == {"right": 1}


@pytest.mark.sample(1)
@pytest.mark.parametrize("kind", KINDS)
def test_a_goal_that_no_way_leads_to_is_left_out(kind):
    """A box without a door around the nearer goal: on another part of the ground;
    and one with a door that is too narrow for anybody: on the same.
    """
    goals = {"in": {"point": [11, 2]}, "out": {"point": [2, 2]}, "any": {"nearest_of": ["in", "out"]}}
    for gap in (0.0, 0.2):
        box = [
            [9, 0.2, 13, 0.4],
            [9, 3.6, 13, 3.8],
            [12.8, 0.4, 13, 3.6],
            [9, 0.4, 9.2, 2.0],
            [9, 2.0 + gap, 9.2, 3.6],
        ]
        scene = {
            **WALL,
            "geometry": {"walkable": {"box": [0, 0, 14, 4]}, "obstacles": [{"box": each} for each in box]},
            "goals": goals,
        }
        scene["groups"] = [{"name": "walker", "positions": [[7, 2]], "goals": ["any"], "speed": 1.3}]
        with run_of(scene, kind, [] if kind == "s2-grid" else ["navigation.cell_size=0.2"]) as run:
            assert run.run().arrivals == {"out": 1}


@pytest.mark.parametrize("kind", KINDS)
def test_a_point_in_the_padding_behind_a_wall_is_not_taken_for_the_floor_before_it(kind):
    """The pocket behind the thin wall is narrower than cells need,
    so its point is moved to a cell on this side of the wall, a step away.
    """
    goals = {
        "pocket": {"point": [8.35, 2]},
        "seat": {"point": [2, 2]},
        "any": {"nearest_of": ["pocket", "seat"]},
    }
    walls = [{"box": [7.9, 0.0, 8.1, 3.4]}, {"box": [8.6, 0.0, 9.4, 3.4]}]
    scene = {**WALL, "geometry": {"walkable": {"box": [0, 0, 14, 4]}, "obstacles": walls}, "goals": goals}
    scene["groups"] = [{"name": "walker", "positions": [[6.5, 2]], "goals": ["any"], "speed": 1.3}]
    with run_of(scene, f"{{kind: {kind}}}") as run:
        assert run.run().arrivals == {"seat": 1}


@pytest.mark.sample(1)
@pytest.mark.parametrize("kind", KINDS)
def test_many_who_go_to_the_nearest_of_several_exits_each_take_theirs(kind):
    """From outside: nobody leaves by an exit that is a metre farther on foot from where he started than
    another.
    """
    exits = {"north": [5, 9.5, 7, 10], "south": [9, 0, 11, 0.5], "east": [13.5, 7, 14, 9]}
    goals = {name: {"exit": {"box": box}} for name, box in exits.items()} | {
        "out": {"nearest_of": list(exits)}
    }
    scene = {
        **WALL,
        "goals": goals,
        "groups": [{"name": "crowd", "count": 40, "goals": ["out"], "speed": 1.3}],
    }
    with run_of(scene, kind, ["avoidance=none"]) as run:
        start = dict(zip(run.world.agents.entity.tolist(), run.world.agents.position.tolist(), strict=True))
        ends, seconds = {}, {}
        while not run.why_over():
            before = dict(
                zip(run.world.agents.entity.tolist(), run.world.agents.position.tolist(), strict=True)
            )
            run.step()
            for entity in set(before) - set(run.world.agents.entity.tolist()):
                ends[entity], seconds[entity] = before[entity], run.time
    assert len(ends) == 40
    below = {entity for entity, (_, y) in start.items() if y < 5.0}
    corner = (2.0, 5.2)

    def on_foot(entity, name):
        (x, y), box = start[entity], exits[name]
        to = np.clip((x, y), box[:2], box[2:])
        straight = (entity in below) == (box[1] < 5.0)
        return (
            np.hypot(*(to - (x, y)))
            if straight
            else np.hypot(x - corner[0], y - corner[1])
            + np.hypot(*(np.clip(corner, box[:2], box[2:]) - corner))
        )

    for entity, (x, y) in ends.items():
        taken = min(
            exits, key=lambda name: np.hypot(*(np.clip((x, y), exits[name][:2], exits[name][2:]) - (x, y)))
        )
        assert on_foot(entity, taken) <= min(on_foot(entity, name) for name in exits) + 1.0
        assert seconds[entity] <= (on_foot(entity, taken) + 3.0) / 1.3


def points_inside(goals):
    """Whether each point of goals is in its piece, by shapely;
    and how far the farthest place of each piece's rim is from the piece's points.
    """
    points = points_of(goals)
    rings = [goals.vertex[a:b] for a, b in itertools.pairwise(goals.vertex_start.tolist())]
    shapes = [shapely.Polygon(ring) if len(ring) > 2 else shapely.Point(ring[0]) for ring in rings]
    inside = [
        shapes[piece].buffer(1e-9).contains(shapely.Point(point))
        for point, piece in zip(points.point, points.piece, strict=True)
    ]
    gaps = [
        max(
            shapely.distance(
                shapely.MultiPoint(points.point[points.piece == piece]),
                shapely.points(shapely.get_coordinates(shape.segmentize(0.05))),
            )
        )
        for piece, shape in enumerate(shapes)
    ]
    return points, inside, gaps


def test_a_goal_of_several_parts_has_points_all_along_their_rims_and_one_of_a_single_part_its_middle_alone():
    hall = {**WALL, "geometry": {"walkable": {"box": [0, 0, 14, 4]}}, "groups": []}
    goals = {
        "long": {"region": {"box": [0, 0, 9, 0.5]}},
        "thin": {"region": {"box": [12, 0, 12.15, 4]}},
        "point": {"point": [5, 3]},
    }
    found = build_world(
        parse_scenario(json.dumps({**hall, "goals": {**goals, "any": {"nearest_of": list(goals)}}}), file="t")
    ).world.goals
    points, inside, gaps = points_inside(found)
    names = sorted([*goals, "any"])
    assert all(inside) and len(found.piece_polygon) == 6
    of_goal = {
        name: list(range(found.goal_start[i], found.goal_start[i + 1])) for i, name in enumerate(names)
    }
    for name in goals:
        assert np.count_nonzero(np.isin(points.piece, of_goal[name])) == 1
    sizes = {
        int(found.piece_source[k]): (np.count_nonzero(points.piece == k), gaps[k]) for k in of_goal["any"]
    }
    long, thin, point = (sizes[names.index(name)] for name in ("long", "thin", "point"))
    assert long[0] > 30 and long[1] < 0.5 and thin[0] == point[0] == 1, (
        "where a piece is too thin for points inside of its rim it has its middle"
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("start", [[1, 0.6], [1, 9.4], [1.2, 1], [2.4, 7]])
def test_who_stands_beside_a_wide_exit_takes_it_though_the_middle_of_another_is_nearer(kind, start):
    """The platform is 10 m wide: its middle is up to 5 m away from who is half a metre from its edge."""
    goals = {
        "platform": {"exit": {"box": [0, 0, 0.5, 10]}},
        "door": {"exit": {"box": [3, 0, 4, 0.5]}},
        "any": {"nearest_of": ["platform", "door"]},
    }
    scene = {**WALL, "geometry": {"walkable": {"box": [0, 0, 20, 10]}}, "goals": goals}
    scene["groups"] = [{"name": "walker", "positions": [start], "goals": ["any"], "speed": 1.3}]
    with run_of(scene, kind) as run:
        verdict = run.run()
    assert verdict.arrivals["platform"] == 1 and verdict.last_arrival_s < (start[0] - 0.5) / 1.3 + 0.7


@pytest.mark.parametrize("kind", KINDS)
def test_places_on_a_rim_that_cells_keep_bodies_from_are_left_out(kind):
    """The region fills a pocket behind a wall, narrower than cells need:
    points on its rim would be moved to cells on this side of the wall.
    """
    goals = {
        "pocket": {"region": {"box": [8.1, 0.5, 8.6, 3]}},
        "seat": {"region": {"box": [1, 1, 3, 3]}},
        "any": {"nearest_of": ["pocket", "seat"]},
    }
    walls = [{"box": [7.9, 0.0, 8.1, 3.4]}, {"box": [8.6, 0.0, 9.4, 3.4]}]
    scene = {**WALL, "geometry": {"walkable": {"box": [0, 0, 14, 4]}, "obstacles": walls}, "goals": goals}
    scene["groups"] = [{"name": "walker", "positions": [[6.5, 2]], "goals": ["any"], "speed": 1.3}]
    with run_of(scene, kind) as run:
        assert run.run().arrivals == {"seat": 1}


@pytest.mark.parametrize("shift", [0.0, 0.07, 0.09, 0.3])
def test_places_on_a_rim_whose_cell_lies_behind_a_thin_wall_are_left_out(shift):
    """Two rooms 5 cm apart: the other room's rim lies in cells whose centres are on this side."""
    rooms = [[shift - 0.4, 0, 4, 4], [4.05, 0, 9, 4], [4, 2.8, 4.05, 4]]
    goals = {
        "next": {"region": {"box": [4.05, 0, 6, 1.5]}},
        "seat": {"region": {"box": [0, 0, 1, 1.5]}},
        "any": {"nearest_of": ["next", "seat"]},
    }
    scene = {**WALL, "geometry": {"walkable": [{"box": each} for each in rooms]}, "goals": goals}
    scene["groups"] = [{"name": "walker", "positions": [[3.5, 0.7]], "goals": ["any"], "speed": 1.3}]
    with run_of(scene, "s2-grid") as run:
        assert run.run().arrivals == {"seat": 1}
