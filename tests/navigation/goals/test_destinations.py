"""Goals that come while a run goes on: their numbers, their pieces, what planners know of them."""

import numpy as np
import pytest
import shapely

from crowdsim.navigation.goals.destinations import Destinations, Points, only
from crowdsim.navigation.goals.goals import GoalShape, cut_goals
from crowdsim.navigation.goals.rims import find_rims, with_rims
from crowdsim.navigation.mesh.build import build_mesh
from crowdsim.navigation.visibility.graph import build_graph
from crowdsim.navigation.visibility.links import link_goals, with_links
from crowdsim.saved import Saved, SavedError
from tests.navigation.worlds import free_points, random_ground

FIXED = [
    GoalShape(shapely.Point(6.0, 6.0), reach=0.3),
    GoalShape(shapely.box(1, 1, 5, 5)),
    GoalShape(None, parts=(0, 1)),
]


def points(*places, reach=0.3, layer=-1):
    return Points(
        np.array(places, dtype=np.float64).reshape(-1, 2),
        np.full(len(places), layer, dtype=np.int32),
        np.full(len(places), reach),
    )


class Book:
    """Goals on some ground, first those of a scenario."""

    def __init__(self, ground=None):
        self.mesh = build_mesh(shapely.box(0, 0, 12, 12) if ground is None else ground).mesh
        self.goals = cut_goals(self.mesh, FIXED)
        self.kept = Destinations(len(FIXED))

    def put(self, *places, sought=(), **more):
        is_used = np.zeros(len(self.goals.reach), dtype=np.bool_)
        is_used[list(sought)] = True
        change = self.kept.put_points(self.mesh, self.goals, points(*places, **more), is_used)
        self.goals = change.goals
        return change.number.tolist(), change.changed.tolist()

    def put_region(self, area):
        change = self.kept.put_region(self.mesh, self.goals, area, -1)
        self.goals = change.goals
        return int(change.number[0]), change.changed.tolist()


def assert_same(one, other):
    for name, a, b in zip(one._fields, one, other, strict=True):
        assert a.dtype == b.dtype and a.tobytes() == b.tobytes(), name


def test_points_get_numbers_behind_those_of_the_scenario_and_equal_ones_the_same():
    book = Book()
    assert book.put((1, 2), (3, 4), (1, 2)) == ([3, 4, 3], [3, 4])
    assert book.put((3, 4), sought=(3, 4)) == ([4], [])
    assert book.put((3, 4), reach=0.5, sought=(3, 4)) == ([5], [5])  # another goal: one comes nearer to it
    assert book.goals.vertex[book.goals.vertex_start[book.goals.goal_start[3:]][:-1]].tolist() == [
        [1, 2],
        [3, 4],
        [3, 4],
    ]


def test_a_point_that_no_agent_goes_to_leaves_its_number_to_the_next():
    book = Book()
    book.put((1, 2), (3, 4), (5, 6))
    assert book.put((7, 8), (3, 4), (9, 10), sought=(5,)) == ([3, 4, 6], [3, 6])
    assert len(book.kept) == 4
    assert [book.kept.shape_of(number).shape.coords[0] for number in range(3, 7)] == [
        (7, 8),
        (3, 4),
        (5, 6),
        (9, 10),
    ]
    for _ in range(100):  # two agents are sent about: no more numbers than are wanted at once
        book.put((7, 8.5), (9, 10.5), sought=())
    assert len(book.kept) == 4


def test_a_region_keeps_its_number_and_is_one_with_its_like():
    book = Book()
    number, changed = book.put_region(shapely.box(7, 7, 9, 9))
    assert (number, changed) == (3, [3])
    assert book.put((1, 2)) == ([4], [4])
    assert book.put_region(shapely.Polygon([(9, 9), (7, 9), (7, 7), (9, 7)])) == (3, [])
    assert book.kept.regions.tolist() == [3]
    pieces = slice(book.goals.goal_start[3], book.goals.goal_start[4])
    assert set(book.goals.piece_source[pieces].tolist()) == {3}


@pytest.mark.parametrize("seed", range(6))
def test_goals_that_came_one_by_one_are_those_that_are_cut_at_once(seed):
    """Pieces, rims and links to corners are bit for bit those of the same goals in a scenario; also after
    points have moved, and on other ground.
    """
    ground, rng = random_ground(seed), np.random.default_rng(seed)
    book = Book(ground)
    places, _ = free_points(ground, 0.05, 12, rng)
    graph, _ = build_graph(book.mesh)
    rims, links = find_rims(book.mesh, book.goals), link_goals(graph, book.goals)

    def follow(changed):
        nonlocal rims, links
        changed = np.array(changed, dtype=np.int64)
        rims = with_rims(rims, book.mesh, book.goals, changed)
        links = with_links(links, graph, book.goals, changed)

    follow(book.put(*places[:4])[1])
    follow(book.put_region(shapely.box(2, 2, 9, 4))[1])
    follow(book.put(*places[4:9], sought=(4, 7))[1])
    follow(book.put(places[9], places[10], places[11], sought=(3, 4, 7, 8))[1])
    shapes = [*FIXED, *(book.kept.shape_of(number) for number in range(3, 3 + len(book.kept)))]
    assert_same(book.goals, cut_goals(book.mesh, shapes))
    assert_same(rims, find_rims(book.mesh, book.goals))
    assert_same(links, link_goals(graph, book.goals))
    other = build_mesh(ground.difference(shapely.box(0, 5, 4, 12))).mesh
    assert_same(book.kept.on(other, cut_goals(other, FIXED)), cut_goals(other, shapes))


def test_some_goals_alone_are_numbered_from_0():
    book = Book()
    book.put((7, 8))
    alone = only(book.goals, np.array([3, 1]))
    assert_same(alone, cut_goals(book.mesh, [book.kept.shape_of(3), FIXED[1]]))


def test_goals_are_saved_and_taken_back():
    book, other = Book(), Book()
    book.put((1, 2), (3, 4))
    book.put_region(shapely.box(7, 7, 9, 9))
    other.put((5, 5))
    state = book.kept.state()
    other.kept.restore(Saved.of(state))
    assert {name: array.tobytes() for name, array in other.kept.state().items()} == {
        name: array.tobytes() for name, array in state.items()
    }
    goals = cut_goals(other.mesh, FIXED)
    assert_same(other.kept.on(other.mesh, goals), book.goals)


def _double(state):
    state["place"][1] = state["place"][0]


def _no_bytes(state):
    state["bytes"] = np.zeros(0, dtype=np.uint8)
    state["length"][:] = 0


def _nonsense(state):
    state["bytes"][:] = 7


def _line(state):
    text = shapely.to_wkb(shapely.LineString([(0, 0), (1, 1)]))
    state["bytes"], state["length"][2] = np.frombuffer(text, dtype=np.uint8).copy(), len(text)


def _no_reach(state):
    state["reach"][0] = 0.0


def _far(state):
    state["place"][0, 0] = np.inf


def _longer(state):
    state["length"][2] += 1


@pytest.mark.parametrize("harm", [_double, _no_bytes, _nonsense, _line, _no_reach, _far, _longer])
def test_a_state_that_cannot_be_is_refused(harm):
    book = Book()
    book.put((1, 2), (3, 4))
    book.put_region(shapely.box(7, 7, 9, 9))
    state = {name: array.copy() for name, array in book.kept.state().items()}
    harm(state)
    with pytest.raises(SavedError):
        Destinations(len(FIXED)).restore(Saved.of(state))
