"""Stuck agents, the waiting graph, gaps: by hand, and against naive twins."""

import numpy as np
import pytest
import shapely

from crowdsim.errors import RecordingError
from crowdsim.measures import deadlock
from crowdsim.measures.deadlock_causes import Moment, diagnose, goal_distance
from crowdsim.measures.deadlock_graph import (
    BEHIND,
    CONTACT,
    YIELD,
    find_waits,
    linked_parts,
    pairs_within,
    strong_parts,
)
from crowdsim.measures.deadlock_places import Segments, gap_ahead, lines_cut, walls_beside
from crowdsim.measures.deadlock_stuck import has_no_progress, look_every, wants_on
from crowdsim.measures.shut_in import find_shut_in
from crowdsim.measures.tracks import make_tracks
from crowdsim.scenario.model import Goal
from crowdsim.world.columns import AgentState, Diagnosis, PathStatus, Wait
from crowdsim.world.events import NOT_DIAGNOSED, Cause
from tests.reference import deadlock as naive


def segments(*lines):
    ends = np.array(lines, dtype=float).reshape(-1, 2, 2)
    return Segments(ends[:, 0], ends[:, 1], np.zeros(len(ends), dtype=np.int32))


def ring_walls(shape):
    """Return the walls of a shapely ground."""
    lines = []
    for polygon in shapely.get_parts(shape):
        for ring in (polygon.exterior, *polygon.interiors):
            points = list(ring.coords)
            lines += [(points[k], points[k + 1]) for k in range(len(points) - 1)]
    return segments(*lines)


@pytest.mark.parametrize(
    ("tick", "every", "looks"),
    [(0.05, 20, 10), (0.1, 10, 10), (1.0, 1, 10), (0.3, 4, 8), (0.7, 2, 7), (0.01, 100, 10), (0.4, 3, 8)],
)
def test_looks_are_a_second_apart_and_compare_ten_seconds(tick, every, looks):
    assert look_every(tick) == (every, looks)
    assert abs(every * looks * tick - 10.0) <= 0.6


def seen(paths, **more):
    """Return tracks of people, one place a second each."""
    rows = [(one, second, x, y) for one, places in paths.items() for second, (x, y) in enumerate(places)]
    person, frame, x, y = zip(*rows, strict=True)
    return make_tracks("hand", 1.0, person, frame, x, y, **more)


def stuck_times(table):
    return {one: own["time_s"].tolist() for one, own in table[table["is_stuck"]].groupby("id")}


def test_stuck_is_whose_way_to_its_goal_has_not_become_shorter_than_ever_by_twenty_centimetres():
    """1 stands, 2 creeps 19 cm in ten seconds, 3 creeps 21 cm, 4 goes to and fro by two metres,
    5 walks after it has stood.
    """
    paths = {
        1: [(0.0, 0.0)] * 16,
        2: [(0.019 * k, 0.0) for k in range(16)],
        3: [(0.021 * k, 0.0) for k in range(16)],
        4: [(1.0 - abs(2 - k % 4), 0.0) for k in range(16)],
        5: [(0.0, 0.0)] * 12 + [(1.0 * k, 0.0) for k in range(1, 5)],
    }
    found = stuck_times(deadlock.stuck_by_place(seen(paths), goal=shapely.Point(9, 0)))
    assert found[1] == found[2] == list(range(10, 16)) and 3 not in found
    assert found[4] == [12, 13, 14, 15]  # it came nearest after two seconds
    assert found[5] == [10, 11]


def test_without_a_goal_each_agent_wants_to_where_it_was_seen_last():
    """1 walks off at the end, 2 stays, 3 mills about in a queue and leaves."""
    paths = {
        1: [(0.5 * k, 0.0) for k in range(16)],
        2: [(2.0, 2.0)] * 16,
        3: [(0.3 * (k % 2), 1.0) for k in range(13)] + [(3.0, 1.0), (6.0, 1.0)],
    }
    found = stuck_times(deadlock.stuck_by_place(seen(paths)))
    assert found == {2: list(range(10, 16)), 3: [11, 12]}


def test_paths_lead_over_the_ground_and_round_its_walls():
    """Through a wall it would come nearer with every step;
    round it, it goes away from its goal until the gap.
    """
    ground = shapely.difference(shapely.box(0, 0, 10, 4), shapely.box(4.9, 0, 5.1, 3.5))
    into_the_corner = [(1.0 + 0.25 * k, 0.5) for k in range(15)] + [(4.7, 0.5)] * 12
    round_it = [(4.0, 0.5 + 0.2 * k) for k in range(16)] + [(4.0 + 0.4 * k, 3.7) for k in range(11)]
    table = deadlock.stuck_by_place(
        seen({1: into_the_corner, 2: round_it}, ground=ground),
        goal={1: shapely.box(9, 0, 10, 1), 2: shapely.Point(9, 0.5)},
    )
    assert set(stuck_times(table)) == {1} and min(stuck_times(table)[1]) >= 20
    first = table.groupby("id")["remaining_m"].first()
    assert first[2] == pytest.approx(np.hypot(0.9, 3.0) + 0.2 + np.hypot(3.9, 3.0), abs=1e-6)
    assert not table["remaining_m"].isna().any() and table.attrs["units"]["progress_m"] == "m"


def test_frames_that_are_rare_are_compared_over_ten_seconds_too_and_too_rare_ones_are_refused():
    every_five = make_tracks("rare", 0.2, [1] * 5, range(5), [0.0, 0.1, 0.15, 0.15, 4.0], [0.0] * 5)
    assert stuck_times(deadlock.stuck_by_place(every_five, goal=shapely.Point(9, 0))) == {1: [10.0, 15.0]}
    with pytest.raises(RecordingError, match=r"0.04 frames a second, too few"):
        deadlock.stuck_by_place(make_tracks("rarer", 0.04, [1, 1], [0, 1], [0, 0], [0, 0]))


def test_slow_walkers_are_asked_for_what_they_can_do():
    speed, then = np.array([1.3, 0.1, 0.05, 0.01]), np.zeros(4)
    assert has_no_progress(np.array([0.19, 0.19, 0.09, 0.019]), then, speed).tolist() == [True] * 4
    assert has_no_progress(np.array([0.21, 0.21, 0.11, 0.021]), then, speed).tolist() == [False] * 4
    assert has_no_progress(np.array([0.0]), np.array([np.nan]), np.array([1.3])).tolist() == [False]


def test_an_agent_that_waits_by_design_does_not_want_on():
    activity = np.array(
        [
            AgentState.WALKING,
            AgentState.WAITING,
            AgentState.STANDING,
            AgentState.STANDING,
            AgentState.WALKING,
            AgentState.WALKING,
        ],
        dtype=np.uint8,
    )
    goal = np.array([0, 0, -1, 0, 0, 0], dtype=np.int32)
    status = np.array(
        [
            PathStatus.FOUND,
            PathStatus.NONE,
            PathStatus.NONE,
            PathStatus.UNREACHABLE,
            PathStatus.FOUND,
            PathStatus.NEAREST_REACHABLE,
        ],
        dtype=np.uint8,
    )
    preferred, driven = (
        np.array([[1.0, 0], [0, 0], [0, 0], [0, 0], [0, 0], [1, 0]]),
        np.array([0, 0, 0, 0, 1, 0], dtype=np.uint8),
    )
    none = np.zeros(6, dtype=np.uint8)
    assert wants_on(activity, goal, status, preferred, driven, none, door_opens_later=False).tolist() == [
        True,
        False,
        False,
        True,
        False,
        True,
    ]
    assert wants_on(activity, goal, status, preferred, driven, none, door_opens_later=True).tolist() == [
        True,
        False,
        False,
        False,
        False,
        False,
    ]
    waits = np.array([Wait.PARTY, 0, 0, 0, 0, 0], dtype=np.uint8)
    wants = wants_on(activity, goal, status, preferred, driven, waits, door_opens_later=False)
    assert not wants[0] and wants[3]


def crowd(seed, count=40):
    rng = np.random.default_rng(seed)
    position = rng.uniform(0.0, 2.5, (count, 2))
    direction = rng.normal(size=(count, 2))
    direction /= np.hypot(*direction.T)[:, None]
    direction[rng.random(count) < 0.1] = 0.0
    entity = np.cumsum(rng.integers(1, 3, count))
    blocker = np.where(rng.random(count) < 0.5, rng.choice(entity, count), rng.choice([0, -1, 10_000], count))
    return (
        entity,
        position,
        rng.uniform(0.15, 0.3, count),
        rng.integers(0, 2, count).astype(np.int32),
        direction,
        blocker,
        rng.random(count) < 0.8,
    )


@pytest.mark.parametrize("seed", range(5))
def test_the_graph_agrees_with_its_reference(seed):
    entity, position, radius, layer, direction, blocker, waiting = crowd(seed)
    blocker[blocker == entity] = 0
    rows = np.flatnonzero(waiting)
    assert set(
        zip(*(part.tolist() for part in pairs_within(position, layer, rows, 0.6)), strict=True)
    ) == naive.pairs_within(position, layer, rows, 0.6)
    waits = find_waits(entity, position, radius, layer, direction, blocker, waiting)
    edges = {
        (a, b): kind
        for a, b, kind in zip(waits.source.tolist(), waits.target.tolist(), waits.kind.tolist(), strict=True)
    }
    assert (
        edges == naive.find_waits(entity, position, radius, layer, direction, blocker, waiting)
        and len(edges) > 10
    )
    assert list(edges) == sorted(edges)
    parts = strong_parts(len(entity), waits.source, waits.target)
    found = {frozenset(np.flatnonzero(parts == part).tolist()) for part in set(parts.tolist())}
    assert found == naive.strong_parts(len(entity), edges)
    assert all(parts[b] <= parts[a] for a, b in edges)
    links = linked_parts(len(entity), waits.source, waits.target)
    both_directions = naive.strong_parts(len(entity), [*edges, *((b, a) for a, b in edges)])
    assert {
        frozenset(np.flatnonzero(links == node).tolist()) for node in set(links.tolist())
    } == both_directions


def test_a_graph_of_nobody_has_no_edges():
    nothing = np.zeros(0, dtype=np.int64)
    waits = find_waits(
        nothing,
        np.zeros((0, 2)),
        np.zeros(0),
        nothing.astype(np.int32),
        np.zeros((0, 2)),
        nothing,
        np.zeros(0, dtype=bool),
    )
    assert (
        len(waits.source) == 0
        and len(strong_parts(0, nothing, nothing)) == 0
        and len(linked_parts(0, nothing, nothing)) == 0
    )


def are_shut_in(rows, position, radius, walls):
    """Return which rows are shut in by all others and by walls, with all of these near each."""
    count = len(radius)
    others = [np.delete(np.arange(count), row) for row in rows]
    first, first_wall = (np.arange(len(rows) + 1) * each for each in (count - 1, len(walls.start)))
    found, wall = np.empty(len(rows), dtype=bool), np.tile(np.arange(len(walls.start)), len(rows))
    find_shut_in(
        np.array(rows), position, radius, first, np.concatenate(others), walls.start, walls.end, first_wall,
        wall, found,
    )  # fmt: skip
    return found.tolist()


@pytest.mark.parametrize("seed", range(8))
def test_shut_in_agrees_with_its_reference(seed):
    rng = np.random.default_rng(seed)
    walls = [((-1.0, -0.5), (1.0, -0.5)), ((-0.8, -0.5), (-0.8, 1.5))]
    position = rng.uniform(-1.2, 1.2, (int(rng.integers(3, 12)), 2))
    radius = np.append(0.2, rng.uniform(0.2, 0.35, len(position) - 1))
    position[0] = 0.0
    expected = [
        naive.is_shut_in(
            position[row].tolist(),
            radius[row],
            *(np.delete(of, row, axis=0).tolist() for of in (position, radius)),
            walls,
        )
        for row in range(len(position))
    ]
    assert are_shut_in(range(len(position)), position, radius, segments(*walls)) == expected


def test_a_ring_of_six_shuts_in_and_of_five_does_not():
    ring = 0.6 * np.array([(np.cos(k * np.pi / 3), np.sin(k * np.pi / 3)) for k in range(6)])
    position, radius = np.concatenate([np.zeros((1, 2)), ring]), np.append(0.2, np.full(6, 0.28))
    assert are_shut_in([0], position, radius, segments()) == [True]
    assert are_shut_in([0], position[:6], radius[:6], segments()) == [False]


@pytest.mark.parametrize("at_once", [1, 50, 10**6])
def test_walls_beside_points_are_those_in_a_box_round_them(at_once, monkeypatch):
    monkeypatch.setattr("crowdsim.measures.deadlock_places.PAIRS_AT_ONCE", at_once)
    rng = np.random.default_rng(3)
    start = rng.uniform(0.0, 9.0, (60, 2))
    walls = Segments(start, start + rng.normal(size=(60, 2)), rng.integers(0, 2, 60).astype(np.int32))
    points, layer = rng.uniform(0.0, 9.0, (25, 2)), rng.integers(0, 2, 25).astype(np.int32)
    first, wall = walls_beside(points, layer, walls, 0.7)
    low, high = np.minimum(walls.start, walls.end), np.maximum(walls.start, walls.end)
    for each, (point, floor) in enumerate(zip(points, layer, strict=True)):
        near = np.all((low - 0.7 <= point) & (point <= high + 0.7), axis=1) & (walls.layer == floor)
        assert wall[first[each] : first[each + 1]].tolist() == np.flatnonzero(near).tolist()
    assert first[-1] == len(wall) > 25


def test_no_walls_are_beside_no_points():
    first, wall = walls_beside(np.zeros((0, 2)), np.zeros(0, dtype=np.int32), segments(), 1.0)
    assert first.tolist() == [0] and not len(wall)


def test_a_line_is_cut_by_a_wall_that_it_crosses_and_not_by_one_that_it_ends_at():
    wall = segments(((1, -1), (1, 1)))
    start, end = np.zeros((3, 2)), np.array([[2.0, 0.0], [1.0, 0.0], [2.0, 3.0]])
    assert lines_cut(start, end, wall).tolist() == [True, False, False]


TWO_ROOMS = shapely.union_all(
    [shapely.box(0, 0, 5, 6), shapely.box(5, 2.65, 5.2, 3.35), shapely.box(5.2, 0, 10, 6)]
)


def test_the_gap_before_people_is_the_door_and_has_its_width():
    position, corner = (
        np.array([[4.7, 3.3], [4.7, 2.7], [4.0, 3.0]]),
        np.array([[5.1, 3.0], [5.1, 3.0], [5.1, 3.0]]),
    )
    gap, way = gap_ahead(position, corner, np.full(3, 0.25), ring_walls(TWO_ROOMS), 2.5)
    assert gap is not None and gap.width == pytest.approx(0.7) and abs(way.sum()) == 3
    assert {round(float(y), 6) for y in (gap.a[1], gap.b[1])} == {2.65, 3.35}


def test_an_agent_that_comes_from_the_other_side_goes_in_the_other_direction():
    position, corner = np.array([[4.6, 3.0], [5.6, 3.0]]), np.array([[9.0, 3.0], [1.0, 3.0]])
    gap, way = gap_ahead(position, corner, np.full(2, 0.25), ring_walls(TWO_ROOMS), 2.5)
    assert gap is not None and sorted(way.tolist()) == [-1, 1]


def test_the_thickness_of_a_wall_a_far_door_and_a_wide_one_are_no_gaps():
    walls = ring_walls(TWO_ROOMS)
    beside, to = np.array([[4.7, 1.0]]), np.array([[4.9, 1.0]])  # towards the wall beside the door
    assert gap_ahead(beside, to, np.full(1, 0.25), walls, 2.5)[0] is None
    assert gap_ahead(np.array([[2.0, 3.0]]), np.array([[9.0, 3.0]]), np.full(1, 0.25), walls, 2.5)[0] is None
    assert gap_ahead(np.array([[4.6, 3.0]]), np.array([[9.0, 3.0]]), np.full(1, 0.25), walls, 0.6)[0] is None
    assert (
        gap_ahead(np.array([[4.6, 3.0]]), np.array([[9.0, 3.0]]), np.full(1, 0.25), segments(), 2.5)[0]
        is None
    )


def moment(position, corner, *, walls=None, stuck=None, **columns):
    """Return a moment of people of 0.25 m that walk, all stuck, with goals at their corners."""
    count = len(position)
    place, to = np.array(position, dtype=float).reshape(-1, 2), np.array(corner, dtype=float).reshape(-1, 2)
    plain = {
        "radius": np.full(count, 0.25),
        "layer": np.zeros(count, dtype=np.int32),
        "activity": np.full(count, AgentState.WALKING, dtype=np.uint8),
        "goal": np.arange(count, dtype=np.int32),
        "path_status": np.full(count, PathStatus.FOUND, dtype=np.uint8),
        "path_tick": np.zeros(count, dtype=np.int64),
        "preferred_velocity": np.zeros((count, 2)),
        "diagnosis": np.full(count, Diagnosis.FEASIBLE, dtype=np.uint8),
        "blocker": np.zeros(count, dtype=np.int64),
        "goes_on": np.zeros(count, dtype=bool),
        "waits": np.zeros(count, dtype=np.uint8),
        "stuck_tick": np.zeros(count, dtype=np.int64),
    }
    return Moment(
        tick=1000,
        tick_length=0.1,
        entity=np.arange(1, count + 1),
        position=place,
        next_corner=to,
        is_stuck=np.array([True] * count if stuck is None else stuck),
        walls=walls or segments(),
        goals=[Goal(f"{k}", "point", tuple(each)) for k, each in enumerate(to.tolist())],
        highest_person=99,
        **{
            name: np.array(columns[name], dtype=array.dtype) if name in columns else array
            for name, array in plain.items()
        },
    )


def causes(found):
    return [Cause(int(cause)).words if cause != NOT_DIAGNOSED else "" for cause in found.cause]


def test_what_each_cause_looks_like_at_its_smallest():
    wall = segments(((1, -2), (1, 2)))
    assert causes(diagnose(moment([[0, 0], [0.5, 0]], [[9, 0], [-9, 0]]))) == ["head-on", "head-on"]
    assert causes(diagnose(moment([[0, 0]], [[9, 0]], walls=wall))) == ["pushed off course"]
    assert causes(diagnose(moment([[0, 0]], [[9, 0]], path_status=[PathStatus.PENDING]))) == [
        "starved by the budget"
    ]
    assert causes(
        diagnose(moment([[0, 0]], [[9, 0]], path_status=[PathStatus.PENDING], path_tick=[990]))
    ) == ["unknown"]
    assert causes(
        diagnose(
            moment([[0, 0]], [[0, 0]], path_status=[PathStatus.UNREACHABLE], activity=[AgentState.STANDING])
        )
    ) == ["no path"]
    assert causes(
        diagnose(
            moment([[0, 0]], [[0, 0]], path_status=[PathStatus.ENCLOSED], activity=[AgentState.STANDING])
        )
    ) == ["enclosed"]
    assert causes(diagnose(moment([[0, 0]], [[9, 0]], diagnosis=[Diagnosis.INFEASIBLE]))) == [
        "infeasible avoidance"
    ]
    assert causes(diagnose(moment([[0, 0]], [[9, 0]]))) == ["unknown"]
    assert causes(diagnose(moment([[0, 0]], [[9, 0]], blocker=[500]))) == ["obstacle in the way"]
    one_stands = {
        "activity": [AgentState.WALKING, AgentState.STANDING],
        "goal": [0, -1],
        "stuck": [True, False],
    }
    assert causes(diagnose(moment([[0, 0], [0.5, 0]], [[9, 0], [0.5, 0]], **one_stands))) == [
        "path through people",
        "",
    ]
    assert causes(diagnose(moment([[0, 0], [0.5, 0]], [[0.5, 0], [0.5, 0]], **one_stands))) == [
        "goal occupied",
        "",
    ]
    assert causes(diagnose(moment([[0, 0], [0.5, 0]], [[9, 0], [9, 0]], stuck=[True, False]))) == [
        "queue",
        "",
    ]


def test_a_front_got_on_last_when_the_latest_of_the_ring_at_the_head_did():
    """A ring of two, one that leans on it, one that waits behind that one,
    and an agent that waits for one that walks.
    """
    position, corner = (
        [[0, 0], [0.5, 0], [-0.5, 0], [-1, 0], [0, 5], [0.5, 5]],
        [[9, 0], [-9, 0], [9, 0], [9, 0], [9, 5], [9, 5]],
    )
    found = diagnose(
        moment(position, corner, stuck=[True] * 5 + [False], stuck_tick=[300, 420, 900, 200, 100, -1])
    )
    assert causes(found) == ["head-on"] * 4 + ["queue", ""]
    assert found.front_tick[:5].tolist() == [420, 420, 420, 420, 1000]


def test_an_obstacle_that_will_go_on_makes_a_queue_and_one_that_stays_a_deadlock():
    cart = {"activity": [AgentState.WALKING, AgentState.OBSTACLE], "goal": [0, -1], "stuck": [True, False]}
    assert causes(
        diagnose(moment([[0, 0], [0.5, 0]], [[9, 0], [0.5, 0]], goes_on=[False, True], **cart))
    ) == ["queue", ""]
    assert causes(diagnose(moment([[0, 0], [0.5, 0]], [[9, 0], [0.5, 0]], **cart))) == [
        "obstacle in the way",
        "",
    ]


def test_those_behind_have_the_cause_of_their_head_and_wait_for_those_that_they_touch():
    """A file of four, the first of which has no answer to its request;
    the last does not touch any other, but avoidance gives way.
    """
    found = diagnose(
        moment(
            [[0, 0], [-0.5, 0], [-1.0, 0], [-2.0, 0]],
            [[9, 0]] * 4,
            path_status=[PathStatus.PENDING] + [PathStatus.FOUND] * 3,
            blocker=[0, 0, 0, 3],
        ),
    )
    assert causes(found) == ["starved by the budget"] * 4
    assert (
        found.waits_for.tolist() == [0, 1, 2, 3]
        and found.head.tolist() == [1, 1, 1, 1]
        and found.is_head.tolist() == [True, False, False, False]
    )
    assert found.group.tolist() == [1, 1, 1, 1] and found.ring.tolist() == [0, 0, 0, 0]
    assert found.waits.kind.tolist() == [CONTACT, CONTACT, YIELD]


def test_an_agent_that_keeps_away_from_another_without_being_bound_by_it_waits_behind_it():
    """As a wall binds the velocity of the second.
    The third has more than half a metre before it, and nobody says why it stands.
    """
    found = diagnose(
        moment(
            [[0, 0], [-0.8, 0], [-2.1, 0]],
            [[9, 0]] * 3,
            path_status=[PathStatus.PENDING] + [PathStatus.FOUND] * 2,
            blocker=[0, -1, 0],
        ),
    )
    assert causes(found) == ["starved by the budget", "starved by the budget", "unknown"]
    assert found.waits.kind.tolist() == [BEHIND] and found.waits_for.tolist() == [0, 1, 0]


def test_an_agent_that_waits_for_a_deadlock_and_for_one_that_gets_on_has_the_cause_of_the_deadlock():
    position = [[0, 0], [0.5, 0], [-0.35, 0.35], [-0.1, 0.8]]
    found = diagnose(
        moment(
            position,
            [[9, 0], [-9, 0], [9, 0.35], [9, 9]],
            stuck=[True, True, True, False],
            blocker=[0, 0, 4, 0],
        )
    )
    assert causes(found) == ["head-on", "head-on", "head-on", ""] and found.head[2] == 1


def test_people_that_go_against_each_other_are_no_queue_though_one_before_them_gets_on():
    position = [[0, 0], [0.5, 0], [0.2, 0.5]]  # the third walks by, in touch of the first
    found = diagnose(
        moment(position, [[9, 0], [-9, 0], [9, 9]], stuck=[True, True, False], blocker=[3, 0, 0])
    )
    assert causes(found) == ["head-on", "head-on", ""] and found.is_head.tolist() == [True, True, False]


def test_a_queue_has_one_head_that_is_not_stuck_and_its_length_and_one_for_a_deadlock_has_the_deadlock():
    found = diagnose(moment([[0, 0], [-0.5, 0], [-1.0, 0]], [[9, 0]] * 3, stuck=[False, True, True]))
    assert (
        causes(found) == ["", "queue", "queue"]
        and found.head.tolist() == [0, 1, 1]
        and found.waits_for.tolist() == [0, 1, 2]
    )
    # the third touches the second, and by a little more air one of two head-on
    position = [[0, 0], [-0.5, 0], [-0.95, 0.25], [-0.7, 0.7], [-0.2, 0.7]]
    found = diagnose(
        moment(
            position, [[9, 0], [9, 0], [9, 0.9], [9, 0.7], [-9, 0.7]], stuck=[False, True, True, True, True]
        )
    )
    assert causes(found) == ["", "queue", "head-on", "head-on", "head-on"] and found.head[2] == 4


def test_people_that_go_against_each_other_are_head_on_though_one_of_them_wants_to_where_the_other_is():
    assert causes(diagnose(moment([[0, 0], [0.5, 0]], [[0.5, 0], [-9, 0]]))) == ["head-on", "head-on"]
    assert causes(diagnose(moment([[0, 0], [0.5, 0]], [[0.5, 0], [0, 0]]))) == [
        "goal occupied",
        "goal occupied",
    ]


def test_an_agent_on_another_floor_does_not_count():
    found = diagnose(moment([[0, 0], [0.5, 0]], [[9, 0], [-9, 0]], layer=[0, 1]))
    assert causes(found) == ["unknown", "unknown"] and found.waits_for.tolist() == [0, 0]


def test_one_alone_at_a_gap_is_no_arch():
    """Two hold each other, but only the first wants through the door."""
    door = segments(((1, 0.5), (1, 3)), ((1, -3), (1, -0.5)))
    assert causes(
        diagnose(moment([[-0.1, -0.4], [0.3, -0.1]], [[9, 0], [0.5, -0.5]], walls=door, blocker=[2, 1]))
    ) == ["head-on", "head-on"]


def test_an_agent_that_is_in_a_ring_waits_for_the_nearest_of_it_even_if_another_is_nearer():
    found = diagnose(
        moment([[0, 0], [0.5, 0], [0.25, 0.42]], [[9, 0], [-9, 0], [9, 9]], stuck=[True, True, False])
    )
    assert causes(found) == ["head-on", "head-on", ""] and found.waits_for.tolist() == [2, 1, 0]


def test_people_that_have_passed_each_other_are_not_head_on():
    assert causes(diagnose(moment([[0, 0], [-0.8, 0.1]], [[9, 0], [-9, 0.1]]))) == ["unknown", "unknown"]
    assert causes(diagnose(moment([[0, 0], [0.8, 0.1]], [[9, 0], [-9, 0.1]]))) == ["head-on", "head-on"]


def test_of_a_ring_behind_one_that_stays_only_the_one_before_it_is_a_head():
    stands = {
        "activity": [AgentState.WALKING, AgentState.WALKING, AgentState.STANDING],
        "goal": [0, 1, -1],
        "stuck": [True, True, False],
    }
    found = diagnose(moment([[0, 0], [0.5, 0], [0.3, 0.42]], [[9, 0], [-9, 0], [0.3, 0.42]], **stands))
    assert causes(found) == ["path through people", "path through people", ""]
    assert (
        found.is_head.tolist() == [True, False, False]
        and found.head.tolist() == [3, 3, 0]
        and found.waits_for.tolist() == [3, 1, 0]
    )


def test_an_agent_that_is_at_its_corner_waits_for_the_one_that_it_would_like_to_walk_into():
    stands = {"activity": [AgentState.WALKING, AgentState.STANDING], "goal": [-1, -1], "stuck": [True, False]}
    found = diagnose(
        moment([[0, 0], [0.52, 0]], [[0, 0], [0.52, 0]], preferred_velocity=[[1, 0], [0, 0]], **stands)
    )
    assert causes(found) == ["path through people", ""] and found.waits_for.tolist() == [2, 0]


def test_obstacles_shut_in_as_people_that_stay_do():
    around = [[0.5 * np.cos(angle), 0.5 * np.sin(angle)] for angle in np.arange(6) * np.pi / 3]
    for last, cause in ((AgentState.OBSTACLE, "enclosed"), (AgentState.WALKING, "path through people")):
        activity = [AgentState.WALKING, *[AgentState.STANDING] * 2, *[last] * 3, AgentState.STANDING]
        found = diagnose(
            moment(
                [[0, 0], *around],
                [[9, 0], *around],
                activity=activity,
                goal=[0] + [-1] * 6,
                stuck=[True] + [False] * 6,
            )
        )
        assert causes(found)[0] == cause


def test_of_very_many_each_is_looked_at_whether_it_is_shut_in(monkeypatch):
    monkeypatch.setattr("crowdsim.measures.deadlock_causes.ASKED_AT_ONCE", 40)
    around = [[0.0, 0.0], *[[0.5 * np.cos(angle), 0.5 * np.sin(angle)] for angle in np.arange(6) * np.pi / 3]]
    place = np.concatenate([np.array(around) + (10.0 * k, 0.0) for k in range(150)])
    is_inside = np.arange(len(place)) % 7 == 0
    found = diagnose(
        moment(
            place,
            place + is_inside[:, None] * (9.0, 0.0),
            activity=np.where(is_inside, AgentState.WALKING, AgentState.STANDING).tolist(),
            goal=np.where(is_inside, 0, -1).tolist(),
            stuck=is_inside.tolist(),
        )
    )
    assert set(np.array(causes(found))[is_inside].tolist()) == {"enclosed"}


def test_permuting_people_changes_no_cause():
    rng = np.random.default_rng(4)
    place, to = rng.uniform(0, 3, (30, 2)), rng.uniform(-20, 20, (30, 2))
    stuck = rng.random(30) < 0.8
    base = diagnose(moment(place, to, stuck=stuck))
    order = rng.permutation(30)
    other = diagnose(moment(place[order], to[order], stuck=stuck[order], goal=order))
    assert np.array_equal(base.cause[order], other.cause) and np.array_equal(
        base.ring[order] > 0, other.ring > 0
    )


def test_the_distance_to_a_goal():
    goals = [
        Goal("p", "point", (1.0, 0.0)),
        Goal("r", "region", area=shapely.box(4, 0, 5, 1)),
        Goal("n", "nearest_of", parts=(0, 1)),
    ]
    assert [goal_distance(goals, k, np.array([3.0, 0.0])) for k in (0, 1, 2, -1, 9)] == [
        2.0,
        1.0,
        1.0,
        np.inf,
        np.inf,
    ]
