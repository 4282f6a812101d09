"""Guesses over the edges of the visibility graph, and joining them with the path that was found
([Norberg 2004], sections 3.1 and 3.2, T5).
"""

import numpy as np
import pytest

from crowdsim.kernels.threads import Team
from crowdsim.navigation.mesh.build import build_mesh
from crowdsim.navigation.mesh.mesh import make_flood
from crowdsim.navigation.mesh.watchers import place_watchers
from crowdsim.navigation.visibility.corridor import corridor_over
from crowdsim.navigation.visibility.graph import MOST_PORTALS
from crowdsim.navigation.visibility.guess import (
    STAY,
    TO_GOAL,
    Candidates,
    _bend_at,
    _may_bend,
    _take_best,
    join_over_corners,
    next_corner,
)
from crowdsim.navigation.visibility.planner import VisibilityPlanner
from crowdsim.navigation.visibility.search import Scratch
from crowdsim.navigation.visibility.sight import NOWHERE
from crowdsim.navigation.visibility.weights import make_weights
from crowdsim.systems.plan import Plan
from crowdsim.world.columns import PathStatus
from tests.crowds import digests, simulation
from tests.navigation.corridor.test_corridors import is_connected
from tests.navigation.sights import Paths
from tests.navigation.worlds import free_points, located, pillar_hall, point_goals, rooms
from tests.reference.corner_guess import Graph
from tests.scenes.test_guess import POCKET

# Walls along the axes: feet of gaps on slanted ones are corners of 1e-16 radians to the mesh, and none to
# shapely. No two paths are equally good.
GROUNDS = {
    "rooms": lambda: rooms(2),
    "others": lambda: rooms(5),
    "few": lambda: rooms(3, 3),
    "pillars": lambda: pillar_hall(4),
}
ROOMS = ("rooms", "others", "few")


class Scene:
    """Some ground with its visibility graph, and pairs of points on it."""

    def __init__(self, name, radius, seed, count=30):
        self.ground, self.radius = GROUNDS[name](), radius
        self.mesh = build_mesh(self.ground).mesh
        points, _ = free_points(self.ground, radius + 0.05, 2 * count, np.random.default_rng(seed))
        self.starts, self.ends = points[: len(points) // 2], points[len(points) // 2 : 2 * (len(points) // 2)]
        self.terrain = VisibilityPlanner(self.mesh, point_goals(self.mesh, self.ends)).terrain
        self.scratch = Scratch(
            make_flood(self.mesh.polygon_count), np.zeros(MOST_PORTALS + 1, dtype=np.int32)
        )
        most = 2 * int(np.diff(self.terrain.graph.pvs_start).max())
        self.candidates = Candidates(np.zeros(most, dtype=np.int64), np.zeros(most))
        self.places = [tuple(place) for place in self.terrain.graph.corners.position.tolist()]
        self.twin = Graph(self.ground, radius)

    def next(self, goal, place, at=NOWHERE, visited=()):
        """Return the corner that is chosen, "goal", or None."""
        polygon = int(located(self.mesh, np.array([place]))[0])
        seen = np.array([*visited, -1], dtype=np.int32)
        node = next_corner(
            self.terrain, goal, self.radius, *map(float, place), polygon, at, seen, len(visited),
            self.scratch, self.candidates,
        )  # fmt: skip
        return {STAY: None, TO_GOAL: "goal"}.get(node, node // 2)

    def walk(self, goal, steps):
        """Return where an agent is that guesses so often, the corners that it reached,
        and what its twin says of each choice.
        """
        place, at, visited, said = tuple(self.starts[goal].tolist()), NOWHERE, [], []
        for _ in range(steps):
            chosen = self.next(goal, place, at, visited)
            twin = self.twin.next_corner(
                place,
                tuple(self.ends[goal].tolist()),
                self.places[at] if at >= 0 else None,
                [self.places[c] for c in visited],
            )
            said.append((self.places[chosen] if isinstance(chosen, int) else chosen, twin))
            if chosen is None or chosen == "goal":
                break
            visited.append(chosen)
            at = chosen
            out = -self.terrain.graph.corners.wall[at].reshape(2, 2).sum(axis=0)
            place = tuple(
                (np.array(self.places[at]) + (self.radius + 1e-3) * out / max(1e-9, np.hypot(*out))).tolist()
            )
        return place, visited, said


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", ROOMS)
@pytest.mark.parametrize("radius", [0.0, 0.15])
def test_the_next_corner_agrees_with_reference(name, radius):
    scene, choices = Scene(name, radius, 1), []
    for goal in range(len(scene.starts)):
        choices += scene.walk(goal, 6)[2]
    assert [choice for choice, _ in choices] == [twin for _, twin in choices]
    assert len(choices) > 40 and sum(isinstance(choice, tuple) for choice, _ in choices) > 10


def test_all_corners_that_it_came_to_are_ignored_and_with_none_left_it_stays():
    scene = Scene("pillars", 0.0, 3)
    goal = next(g for g in range(len(scene.starts)) if scene.next(g, scene.starts[g]) != "goal")
    visited = []
    while (chosen := scene.next(goal, scene.starts[goal], visited=visited)) is not None:
        assert chosen not in visited
        visited.append(chosen)
    assert len(visited) > 8  # more than the portals that a guess on the mesh remembers
    assert scene.next(goal, scene.starts[goal], visited=visited) is None


@pytest.mark.parametrize("radius", [0.0, 0.3, 1.5])
def test_which_way_paths_bend_is_told_by_the_direction_to_a_corner_for_most_and_wrongly_for_none(radius):
    scene = Scene("rooms", 0.0, 6, count=60)
    corners, asked, left = scene.terrain.graph.corners, 0, 0
    beside = corners.position + np.random.default_rng(1).normal(0.0, 0.5, corners.position.shape)
    for x, y in [*scene.starts.tolist(), *beside.tolist()]:
        for corner in range(len(corners.vertex)):
            for node, may in zip(
                (2 * corner, 2 * corner + 1), _may_bend(corners, corner, x, y, radius), strict=True
            ):
                bends, ux, uy = _bend_at(scene.terrain, x, y, node, radius)
                assert may or not bends
                assert np.hypot(ux, uy) == pytest.approx(1.0)
                asked, left = asked + 1, left + may
    assert 0.1 * asked < left < 0.5 * asked


def test_of_candidates_the_best_comes_first_and_of_equals_that_with_the_lowest_node():
    rng = np.random.default_rng(2)
    candidates = Candidates(rng.permutation(50), rng.integers(0, 9, 50).astype(np.float64))
    expected, found = sorted(zip(-candidates.score[:40], candidates.node[:40], strict=True)), []
    for count in range(40, 0, -1):
        _take_best(candidates, count)
        found.append((-candidates.score[count - 1], candidates.node[count - 1]))
    assert found == expected and len({score for score, _ in found}) < 10


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", ROOMS)
@pytest.mark.parametrize("radius", [0.0, 0.15])
@pytest.mark.parametrize("is_watched", [False, True])
def test_joining_over_corners_agrees_with_reference_and_gives_a_corridor_from_where_the_agent_is(
    name, radius, is_watched
):
    scene, met, kept = Scene(name, radius, 2), 0, 0
    planner = VisibilityPlanner(scene.mesh, scene.terrain.goals)
    if is_watched:
        scene.terrain = scene.terrain._replace(
            weights=make_weights(scene.mesh, place_watchers(scene.mesh, [tuple(scene.ends[0])]), exposure=1.0)
        )
    for goal in range(len(scene.starts)):
        found = path_of(scene, planner, goal)
        place, visited, _ = scene.walk(goal, 3)
        if found is None or not visited:
            continue
        target, polygon = scene.ends[goal].tolist(), int(located(scene.mesh, np.array([place]))[0])
        chain, piece = (
            np.full(len(found) + len(visited) + 1, -9, dtype=np.int32),
            int(scene.terrain.goals.goal_start[goal]),
        )
        corners = np.array(found, dtype=np.int32)
        count = join_over_corners(
            scene.terrain,
            *place,
            polygon,
            np.array(visited, dtype=np.int32),
            corners,
            piece,
            *target,
            radius,
            chain,
            scene.scratch,
        )
        twin = scene.twin.join(
            place,
            [scene.places[c] for c in visited],
            [scene.places[c] for c in found],
            tuple(target),
            not is_watched,
        )
        got = [*(scene.places[c] for c in chain[:count][::-1].tolist()), "goal"] if count >= 0 else None
        assert got == twin
        met += 1
        if got is None:
            continue
        kept += 1
        out = np.zeros(4096, dtype=np.int32)
        length = corridor_over(
            scene.terrain, chain, count, *place, polygon, *target, piece, out, 0, scene.scratch
        )
        assert length >= 0
        path = out[:length][::-1].tolist()
        assert is_connected(scene.mesh, path, polygon)
        end = int(scene.mesh.edge_polygon[scene.mesh.edge_twin[path[-1]]]) if path else polygon
        assert (
            end == scene.terrain.goals.piece_polygon[piece]
            and (scene.mesh.edge_width[path] >= 2.0 * radius).all()
        )
    assert met > 3 and kept > (0.2 if is_watched else 0.8) * met


def path_of(scene, planner, goal):
    """Return the corners of the shortest path from a start to its goal; None if there is none."""
    start = scene.starts[goal : goal + 1]
    planner.submit(
        0,
        np.zeros(1, dtype=np.int64),
        start,
        located(scene.mesh, start),
        np.array([goal], dtype=np.int32),
        np.array([scene.radius]),
    )
    answers, _ = planner.advance(1 << 40, Team(1))
    if answers.status[0] != PathStatus.FOUND:
        return None
    corners = Paths(planner, start, np.array([scene.radius])).corners(0)
    return [scene.places.index((x, y)) for x, y, _ in corners]


STARVED = {
    **POCKET,
    "navigation": {"kind": "visibility"},
    "budget": {"work": 6},
    "stop": {"after": 120, "when": "all_arrived"},
}


def test_the_guess_moves_in_the_first_tick_and_the_found_path_goes_on_from_where_the_agent_is():
    with simulation(STARVED) as run:
        start = run.agents.position[0].copy()
        run.step()
        assert np.hypot(*(run.agents.position[0] - start)) > 0.1
        while run.agents.path_status[0] == PathStatus.PENDING:
            # it goes somewhere
            assert run.world.agents.next_corner[0].tolist() != run.agents.position[0].tolist()
            run.step()
        here, joined_at = run.agents.position[0].copy(), run.time
        assert np.hypot(*(here - start)) > 3.0
        nearest = np.inf
        while len(run.agents):
            nearest = min(nearest, float(np.hypot(*(run.agents.position[0] - start))))
            run.step()
            assert run.time < 100.0
        # The path from there, by a planner that has all the work that it wants.
        there = {
            **POCKET,
            "groups": [{**POCKET["groups"][0], "positions": [here.tolist()]}],
            "navigation": {"kind": "visibility"},
        }
        with simulation(there) as alone:
            alone.run()
            assert run.time - joined_at < 1.15 * alone.time + 0.5
        assert nearest > 2.0  # it did not walk back to where it began


@pytest.mark.full
def test_saving_and_loading_while_agents_guess_over_corners_changes_nothing():
    with simulation(STARVED) as run, simulation(STARVED) as other:
        for _ in range(40):
            run.step()
            if run.tick % 13 == 0:
                state = run.state()
                other.restore(state)
                assert other.state().keys() == state.keys() and any(
                    name.endswith("guess_visited") for name in state
                )
                ahead = digests(other, 6)
                other.restore(state)
                assert digests(other, 6) == ahead
        assert run.agents.path_status[0] == PathStatus.PENDING
        other.restore(run.state())
        assert digests(other, 60) == digests(run, 60)


def test_guesses_end_where_agents_leave_or_go_elsewhere():
    with simulation(STARVED) as run:
        run.step()
        guesses = run.system(Plan).paths[0].corner_guesses
        assert guesses._entity.tolist() == [1]
        run.set_goal(1, None)
        assert guesses._entity.tolist() == []
        run.set_goal(1, "far")
        run.step()
        assert guesses._entity.tolist() == [1] and guesses._table["begin"][0, :2].tolist() != [1.0, 1.0]
