"""The rims of goals: paths come in over the sides of pieces that no wall and no other piece of the goal
covers.
"""

import numpy as np
import pytest
import shapely

from crowdsim.navigation.goals.goals import GoalShape, cut_goals
from crowdsim.navigation.goals.rims import KNOWN_M, find_rims
from crowdsim.navigation.mesh.build import MeshParameters, build_mesh
from tests.navigation.test_paths_exist import regions_at_walls
from tests.navigation.test_terrain import outlines
from tests.navigation.worlds import random_ground, rooms, simple_polygon
from tests.reference.goals import rim_of


def neighbours(ground, rng):
    """Two boxes side by side, one of which is longer, where they are on the ground."""
    x, y = rng.uniform(1.0, 9.0, 2)
    for box in (shapely.box(x, y, x + 1.5, y + 2.5), shapely.box(x + 1.5, y + 0.5, x + 2.5, y + 3.5)):
        yield from (part for part in shapely.get_parts(box & ground) if part.area > 0.1)


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "seed", [*range(4), *(pytest.param(seed, marks=pytest.mark.full) for seed in range(4, 60))]
)
def test_rims_are_those_of_the_twin(seed):
    rng = np.random.default_rng(seed)
    ground = (random_ground, rooms, simple_polygon)[seed % 3](seed)
    mesh = build_mesh(ground, parameters=MeshParameters(faces=("polygons", "triangles")[seed % 2])).mesh
    pair = list(neighbours(ground, rng))
    shapes = [
        GoalShape(shape)
        for shape in (
            *regions_at_walls(ground, rng),
            shapely.box(2, 2, 8, 9) & ground,
            ground.representative_point(),
            *pair,
        )
    ]
    if len(pair) > 1:
        shapes.append(GoalShape(None, parts=tuple(range(len(shapes) - len(pair), len(shapes)))))
    goals = cut_goals(mesh, shapes)
    rims = find_rims(mesh, goals)
    covered = shapely.union_all(outlines(mesh))  # the ground, with corners rounded as those of the mesh
    open_sides = 0
    for goal in range(len(shapes)):
        for piece in range(goals.goal_start[goal], goals.goal_start[goal + 1]):
            at = slice(rims.start[piece], rims.start[piece + 1])
            got = np.column_stack([rims.corner[at], rims.low[at], rims.high[at], rims.clear[at]])
            expected = np.array(rim_of(covered, goals, goal, piece, KNOWN_M)).reshape(-1, 4)
            assert got == pytest.approx(expected, abs=1e-4), (goal, piece)
            open_sides += len(expected)
    sides = len(goals.vertex)
    assert 0 < open_sides < sides, "some sides are covered"
