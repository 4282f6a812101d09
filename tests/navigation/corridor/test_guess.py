"""Joining what was walked on a guess with the path that was found ([Norberg 2004], section 3.2)."""

import numpy as np
import pytest
import shapely

from crowdsim.kernels.threads import Team
from crowdsim.navigation.corridor.guess import join_guess
from crowdsim.navigation.goals.goals import GoalShape, cut_goals
from crowdsim.navigation.mesh.build import build_mesh
from crowdsim.navigation.mesh.mesh import is_cut_off
from crowdsim.navigation.planning.mesh_planner import MeshPlanner
from tests.navigation.corridor.test_corridors import is_connected, path_of
from tests.navigation.worlds import free_points, located, pillar_hall, random_ground, rooms
from tests.reference import guess as twin

GROUNDS = {"random": lambda: random_ground(12), "pillars": lambda: pillar_hall(4), "rooms": lambda: rooms(2)}


def passing(mesh, goal, width, x, y):
    """Return `can_pass` of the twin for an agent at (x, y)."""

    def can_pass(polygon, entry, onward):
        if entry is None and onward is None:
            return True
        if onward is not None and mesh.edge_width[onward] < width:
            return False
        if entry is None:
            return not is_cut_off(mesh, polygon, onward, x, y, width)
        if onward is None:
            return not is_cut_off(mesh, polygon, entry, *goal, width)
        first, last = mesh.polygon_start[polygon], mesh.polygon_start[polygon + 1]
        return (
            mesh.pair_width[mesh.pair_start[polygon] + (entry - first) * (last - first) + onward - first]
            >= width
        )

    return can_pass


def scenes(name, radius, seed, count=60, steps=8):
    """Yield (mesh, goals, piece, found path, portals walked on the guess, position):
    paths of the planner, and walks that fit the agent.
    """
    mesh = build_mesh(GROUNDS[name]()).mesh
    rng = np.random.default_rng(seed)
    points, _ = free_points(GROUNDS[name](), radius + 0.05, 2 * count, rng)
    ends, starts = points[: len(points) // 2], points[len(points) // 2 :]
    goals = cut_goals(mesh, [GoalShape(shapely.Point(p), reach=0.2) for p in ends])
    planner, polygons = MeshPlanner(mesh, goals), located(mesh, starts)
    many = min(len(starts), len(ends))
    planner.submit(
        0,
        np.arange(many) + 1,
        starts[:many],
        polygons[:many],
        np.arange(many, dtype=np.int32),
        np.full(many, radius),
    )
    answers, _ = planner.advance(1 << 40, Team(1))
    for i in range(many):
        found = answers.portals[answers.start[i] : answers.start[i + 1]][::-1].tolist()
        walked = path_of(mesh, int(polygons[i]), rng, int(rng.integers(1, steps)))
        if answers.status[i] != 2 or not walked or (mesh.edge_width[walked] < 2.0 * radius).any():
            continue
        here = int(mesh.edge_polygon[mesh.edge_twin[walked[-1]]])
        first, last = mesh.polygon_start[here], mesh.polygon_start[here + 1]
        middle = mesh.vertex[mesh.edge_vertex[first:last], :2].mean(axis=0)
        yield mesh, goals, int(answers.piece[i]), found, walked, middle


def joined(mesh, goals, piece, found, walked, radius, position):
    back = mesh.edge_twin[walked].astype(np.int32)
    cells = np.full(len(found) + len(back), -7, dtype=np.int32)
    cells[: len(found)] = found[::-1]
    length = join_guess(mesh, goals, cells, 0, len(found), back, 0, len(back), piece, 2.0 * radius, *position)
    return cells[:length][::-1].tolist()


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", GROUNDS)
@pytest.mark.parametrize("radius", [0.05, 0.2])
def test_joining_a_guess_agrees_with_reference(name, radius):
    met = 0
    for mesh, goals, piece, found, walked, position in scenes(name, radius, 1):
        back = mesh.edge_twin[walked][::-1].tolist()
        can_pass = passing(mesh, goals.pole[piece], 2.0 * radius, *position)
        assert joined(mesh, goals, piece, found, walked, radius, position) == twin.join_guess(
            mesh, found, back, can_pass
        )
        met += 1
    assert met > 5


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", GROUNDS)
def test_a_joined_path_begins_where_the_agent_is_and_ends_at_the_goal(name):
    radius, shorter, through_start = 0.05, 0, 0
    for mesh, goals, piece, found, walked, position in scenes(name, radius, 2, count=120):
        path = joined(mesh, goals, piece, found, walked, radius, position)
        here = int(mesh.edge_polygon[mesh.edge_twin[walked[-1]]])
        assert is_connected(mesh, path, here)
        end = int(mesh.edge_polygon[mesh.edge_twin[path[-1]]]) if path else here
        assert end == goals.piece_polygon[piece]
        assert (mesh.edge_width[path] >= 2.0 * radius).all() if path else True
        assert len(path) <= len(found) + len(walked)
        shorter += len(path) < len(found) + len(walked)
        start = int(mesh.edge_polygon[walked[0]])
        through_start += start in twin.polygons_along(mesh, path, here) and here != start
    assert shorter > 10 and through_start > 0  # some go over before, some have to go back


def test_an_agent_that_went_along_the_path_by_chance_goes_on_from_there():
    met = 0
    for mesh, goals, piece, found, _, _ in scenes("rooms", 0.1, 5):
        for steps in range(1, len(found)):
            here = int(mesh.edge_polygon[mesh.edge_twin[found[steps - 1]]])
            middle = mesh.vertex[
                mesh.edge_vertex[mesh.polygon_start[here] : mesh.polygon_start[here + 1]], :2
            ].mean(axis=0)
            if not is_cut_off(mesh, here, found[steps], *middle, 0.2):
                assert joined(mesh, goals, piece, found, found[:steps], 0.1, middle) == found[steps:]
                met += 1
    assert met > 20
