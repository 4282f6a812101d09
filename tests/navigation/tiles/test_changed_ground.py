"""Ground that changes: the mesh with closed areas against one made from scratch without them, what stays,
and where agents are put.
"""

import numpy as np
import pytest
import shapely

from crowdsim.kernels.threads import Team
from crowdsim.navigation.goals.goals import GoalShape, cut_goals
from crowdsim.navigation.grid.grid import Area, build_grid
from crowdsim.navigation.grid.parameters import GridParameters
from crowdsim.navigation.mesh.build import build_mesh, build_parts
from crowdsim.navigation.mesh.mesh import locate, make_flood, wall_distance
from crowdsim.navigation.planning.mesh_planner import MeshPlanner
from crowdsim.navigation.tiles.relocate import FARTHEST_M, relocate
from crowdsim.navigation.tiles.renumber import find_unchanged
from crowdsim.scenario.areas import parted_ground
from crowdsim.scenario.shapes import circle_corners
from crowdsim.setup.build import mesh_parts
from crowdsim.systems.ground.triggers import crosses_line

RAYS = circle_corners((0.0, 0.0), 1.0, 32)


def plan(rng):
    """A hall with pillars of all sizes, and three boxes in it, some over its rim, that can be closed."""
    pillars = [
        shapely.box(x, y, x + w, y + h)
        for x, y, w, h in zip(
            *rng.uniform([[0.0], [0.0], [0.2], [0.2]], [[15.0], [9.0], [3.0], [2.0]], (4, 9)), strict=True
        )
    ]
    ground = shapely.set_precision(
        shapely.difference(shapely.box(0, 0, 16, 10), shapely.union_all(pillars)), 2.0**-20
    )
    boxes = [
        shapely.box(x, y, x + w, y + h)
        for x, y, w, h in zip(
            *rng.uniform([[-1.0], [-1.0], [0.3], [0.3]], [[14.0], [8.0], [4.0], [4.0]], (4, 3)), strict=True
        )
    ]
    return ground, [shapely.set_precision(box, 2.0**-20) for box in boxes]


@pytest.mark.parametrize("seed", range(4))
def test_a_mesh_with_closed_areas_is_one_without_them_beside_their_insides(seed):
    """The same agents get from everywhere to everywhere, and walls are as far away;
    nothing leads into a closed area.
    """
    rng = np.random.default_rng(seed)
    ground, boxes = plan(rng)
    left, islands = parted_ground(ground, boxes)
    mesh = build_parts(mesh_parts(ground, boxes, None)).mesh
    scratch = build_mesh(left).mesh
    points = rng.uniform((0, 0), (16, 10), (60, 2))
    outside = points[shapely.contains_xy(left, *points.T)]
    flood, other_flood = make_flood(mesh.polygon_count), make_flood(scratch.polygon_count)
    for x, y in outside:
        here, there = locate(mesh, x, y, -1), locate(scratch, x, y, -1)
        assert wall_distance(mesh, here, x, y, 5.0, flood) == wall_distance(
            scratch, there, x, y, 5.0, other_flood
        )
        part = next(part for part in shapely.get_parts(left) if part.contains(shapely.Point(x, y)))
        nearest = shapely.distance(part.boundary, shapely.Point(x, y))
        assert wall_distance(mesh, here, x, y, 5.0, flood) >= min(5.0, nearest) - 1e-9
    for radius in (0.05, 0.2, 0.5):
        answers = []
        for each in (mesh, scratch):
            planner = MeshPlanner(each, cut_goals(each, [GoalShape(shapely.Point(p)) for p in outside[:6]]))
            count = len(outside)
            polygon = np.array([locate(each, x, y, -1) for x, y in outside])
            for goal in range(6):
                planner.submit(
                    0,
                    100 * goal + np.arange(count),
                    outside,
                    polygon,
                    np.full(count, goal, dtype=np.int32),
                    np.full(count, radius),
                )
            found, _ = planner.advance(1 << 40, Team())
            answers.append(dict(zip(found.entity.tolist(), found.status.tolist(), strict=True)))
        assert answers[0] == answers[1]
    for island in islands:
        for part in shapely.get_parts(island):
            inner = part.representative_point()
            if part.area > 1e-3 and len(outside):
                assert (
                    mesh.polygon_part[locate(mesh, inner.x, inner.y, -1)]
                    != mesh.polygon_part[locate(mesh, *outside[0], -1)]
                )


@pytest.mark.parametrize("seed", range(4))
def test_what_is_carried_over_is_the_same_polygon_with_the_same_neighbours(seed):
    rng = np.random.default_rng(seed)
    ground, boxes = plan(rng)
    old, new = build_mesh(ground).mesh, build_parts(mesh_parts(ground, boxes[:1], None)).mesh
    goals = [GoalShape(ground.representative_point()), GoalShape(shapely.box(0, 0, 16, 10))]
    old_goals, new_goals = cut_goals(old, goals), cut_goals(new, goals)
    carried = find_unchanged(old, old_goals, new, new_goals)
    assert 0 < np.count_nonzero(carried.polygon >= 0) < old.polygon_count
    for edge in np.flatnonzero(carried.edge >= 0):
        other = carried.edge[edge]
        assert np.array_equal(old.vertex[old.edge_vertex[edge]], new.vertex[new.edge_vertex[other]])
        assert np.array_equal(old.vertex[old.edge_end[edge]], new.vertex[new.edge_end[other]])
        assert (
            old.edge_width[edge] == new.edge_width[other]
            and carried.polygon[old.edge_polygon[edge]] == new.edge_polygon[other]
        )
        twin = old.edge_twin[edge]
        if twin >= 0 and carried.edge[twin] >= 0:
            assert new.edge_twin[other] == carried.edge[twin]
    for piece in np.flatnonzero(carried.piece >= 0):
        assert np.array_equal(old_goals.pole[piece], new_goals.pole[carried.piece[piece]])
    assert np.array_equal(find_unchanged(old, old_goals, old, old_goals).edge, np.arange(old.edge_count))


def test_a_agent_in_a_door_that_closes_is_put_on_the_nearer_side_and_others_stay():
    ground = shapely.box(0, 0, 10, 4)
    old, new = (
        build_mesh(ground).mesh,
        build_parts(mesh_parts(ground, [shapely.box(4.9, 0, 5.1, 4)], None)).mesh,
    )
    position = np.array([[4.95, 2.0], [5.2, 2.0], [8.0, 2.0], [4.6, 1.0]])
    radius = np.full(4, 0.2)
    polygon = np.array([locate(new, x, y, -1) for x, y in position])
    under = np.array([locate(old, x, y, -1) for x, y in position])
    out, out_polygon = np.empty((4, 2)), np.empty(4, dtype=np.int64)
    relocate(old, new, under, polygon, position, radius, RAYS, out, out_polygon)
    assert out[0, 0] == pytest.approx(4.7, abs=0.026) and out[1, 0] == pytest.approx(5.3, abs=0.026)
    assert np.array_equal(out[2:], position[2:])
    assert [locate(new, x, y, -1) for x, y in out] == out_polygon.tolist()


@pytest.mark.parametrize("seed", range(4))
def test_an_agent_that_is_put_elsewhere_is_clear_of_walls_there_and_nothing_nearer_was_free(seed):
    """A naive search over the same rays, on polygons instead of the mesh."""
    rng = np.random.default_rng(seed)
    ground, boxes = plan(rng)
    left, islands = parted_ground(ground, boxes)
    old, new = build_mesh(ground).mesh, build_parts(mesh_parts(ground, boxes, None)).mesh
    position = rng.uniform((0, 0), (16, 10), (80, 2))
    position = position[shapely.contains_xy(ground, *position.T)]
    radius = rng.uniform(0.15, 0.4, len(position))
    under = np.array([locate(old, x, y, -1) for x, y in position])
    polygon = np.array([locate(new, x, y, -1) for x, y in position])
    out, out_polygon = np.empty_like(position), np.empty(len(position), dtype=np.int64)
    relocate(old, new, under, polygon, position, radius, RAYS, out, out_polygon)
    parts = [part for each in (left, *islands) for part in shapely.get_parts(each)]
    moved = np.hypot(*(out - position).T)
    for row in np.flatnonzero(moved > 0.0):
        part = next(part for part in parts if part.contains(shapely.Point(out[row])))
        assert shapely.distance(part.boundary, shapely.Point(out[row])) >= radius[row] - 1e-9
        assert moved[row] <= FARTHEST_M + radius[row] and ground.contains(
            shapely.LineString([position[row], out[row]])
        )
        for away in np.arange(1, round(moved[row] / (0.125 * radius[row]))) * 0.125 * radius[row]:
            for place in shapely.points(position[row] + away * RAYS):
                free = any(
                    part.contains(place) and shapely.distance(part.boundary, place) >= radius[row] + 1e-9
                    for part in parts
                )
                assert not (free and ground.contains(shapely.LineString([position[row], (place.x, place.y)])))


@pytest.mark.parametrize("seed", range(4))
def test_a_grid_after_any_changes_is_one_made_from_scratch(seed):
    rng = np.random.default_rng(seed)
    ground, _ = plan(rng)
    boxes = {
        f"{i}": shapely.box(x, y, x + 2.0, y + 1.5)
        for i, (x, y) in enumerate(rng.uniform((-1, -1), (15, 9), (5, 2)))
    }
    parameters = GridParameters(cell_size=0.25, object_padding=0.1)
    grid, pillar = build_grid([Area("all", ground)], (), parameters), shapely.box(7, 4, 8, 6)
    grid.add_obstacle(pillar)
    standing: list[str] = []
    for _ in range(12):
        name = str(rng.integers(5))
        (grid.take_down if name in standing else grid.put_up)(
            name, *(() if name in standing else (boxes[name],))
        )
        standing = [each for each in standing if each != name] + ([] if name in standing else [name])
        scratch = build_grid([Area("all", ground)], [pillar, *(boxes[each] for each in standing)], parameters)
        assert np.array_equal(grid.clearance, scratch.clearance) and list(grid._raised) == standing


def test_a_step_over_a_line_counts_wherever_it_begins_on_it_and_only_between_the_ends():
    line = np.array([[0.0, 0.0], [0.0, 2.0]])
    steps = [
        ((-1, 1), (1, 1), True),
        ((1, 1), (-1, 1), True),
        ((-1, 3), (1, 3), False),
        ((-1, 1), (-0.5, 1), False),
        ((0, 1), (1, 1), True),
        ((0, 1), (-1, 1), False),
    ]
    before, now = (np.array([step[i] for step in steps], dtype=np.float64) for i in (0, 1))
    assert crosses_line(before, now, line).tolist() == [step[2] for step in steps]
