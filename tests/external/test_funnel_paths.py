"""Ways over meshes and queries that others made:
an any-angle oracle, Detour's own polygons, and meshes built to break planners.
"""

import json

import numpy as np
import pytest
import shapely

from crowdsim.navigation.goals.goals import GoalShape, cut_goals
from crowdsim.navigation.mesh.build import MeshParameters, build_mesh, mesh_from_polygons
from crowdsim.navigation.search.slot_fields import FOUND, UNREACHABLE
from tests.external.data import need
from tests.navigation.worlds import OnePlanner
from tests.reference import funnel as twin


def read_mesh(path):
    """Return vertices and polygons of a Polyanya mesh, version 2."""
    numbers = iter(path.read_text().split()[2:])
    vertex_count, polygon_count = int(next(numbers)), int(next(numbers))
    vertices, polygons = [], []
    for _ in range(vertex_count):
        vertices.append((float(next(numbers)), float(next(numbers))))
        for _ in range(int(next(numbers))):
            next(numbers)
    for _ in range(polygon_count):
        count = int(next(numbers))
        polygons.append([int(next(numbers)) for _ in range(count)])
        for _ in range(count):
            next(numbers)
    return np.array(vertices), polygons


def arena(kind):
    """Return a planner on the arena: on the oracle's own polygons, or on a mesh of its outline."""
    if kind == "its own polygons":
        return OnePlanner(mesh_from_polygons(*read_mesh(need("polyanya", "arena.mesh")))[0])
    ground = shapely.from_wkt(need("polyanya", "arena_boundary.wkt").read_text())
    return OnePlanner(build_mesh(ground, parameters=MeshParameters(faces=kind)).mesh)


@pytest.mark.sample(1)
@pytest.mark.parametrize("kind", ["its own polygons", "polygons", "triangles"])
def test_ways_over_the_arena_are_at_least_as_long_as_the_oracle_and_on_average_five_per_cent_longer_at_most(
    kind,
):
    queries = json.loads(need("polyanya", "arena_anyangle_expected.json").read_text())
    planner = arena(kind)
    ratios = []
    for query in queries:
        status, _, _, length = planner.path(query["start"], query["goal"], 0.0)
        assert status == FOUND
        assert length >= query["length"] * (1.0 - 1e-5) - 1e-6  # the oracle is rounded to some six digits
        ratios.append(length / query["length"])
    assert len(ratios) == 160
    assert np.mean(ratios) <= 1.05


def test_the_oracle_agrees_with_the_visibility_graph():
    """So that the yardstick is known to be right, and the twin of the funnel with it."""
    queries = json.loads(need("polyanya", "arena_anyangle_expected.json").read_text())
    optimum = twin.Visibility(shapely.from_wkt(need("polyanya", "arena_boundary.wkt").read_text()))
    for query in queries[::8]:
        assert optimum.shortest(query["start"], query["goal"]) == pytest.approx(query["length"], rel=1e-4)


# The first file gives the length between two corners for points that lie 1.4 mm off them.
@pytest.mark.parametrize(
    "name, off",
    [
        ("bad-collinear", 3e-3),
        *((f"bad-collinear2-rot{turn}", 1e-9) for turn in (0, 45, 90)),
        ("square", 1e-9),
    ],
)
def test_meshes_with_collinear_corners_have_the_expected_ways(name, off):
    planner = OnePlanner(mesh_from_polygons(*read_mesh(need("polyanya", "tiny", f"{name}.mesh")))[0])
    for line in need("polyanya", "tiny", f"{name}.scen").read_text().splitlines()[1:]:
        *start, gx, gy, expected = map(float, line.split()[4:])
        status, _, _, length = planner.path(start, (gx, gy), 0.0)
        assert status == FOUND
        assert length == pytest.approx(expected, abs=off)


def test_a_point_does_not_slip_through_where_two_polygons_meet_in_a_corner_only():
    planner = OnePlanner(mesh_from_polygons(*read_mesh(need("polyanya", "tiny", "bad-ambig.mesh")))[0])
    status, _, _, length = planner.path((0.99, 1.01), (1.01, 0.99), 0.0)
    assert status == UNREACHABLE or length > 2.0


@pytest.mark.parametrize("name, polygons", [("nav_test", 155), ("dungeon", 118)])
def test_on_its_own_polygons_ways_are_found_as_by_detour_and_are_on_average_no_longer(name, polygons):
    data = json.loads(need("detour", f"{name}.json").read_text())
    mesh, _ = mesh_from_polygons(np.array(data["vertices"]), data["polygons"])
    assert mesh.polygon_count == polygons
    planner = OnePlanner(mesh)
    # Floors overlap, so the polygons of both ends are given, not looked for.
    region = GoalShape(shapely.Point(mesh.portal_point[0]))
    one = cut_goals(mesh, [region])
    ours, theirs = [], []
    for query in data["queries"]:
        start, goal = np.array(query["start"][:2]), np.array(query["goal"][:2])
        goals = one._replace(
            piece_polygon=np.array([query["goal_polygon"]], dtype=np.int32),
            vertex=goal[None],
            pole=goal[None],
        )
        status = planner.search(start, goals, 0.0, polygon=query["start_polygon"])
        assert (status == FOUND) == query["reached"]
        if status == FOUND:
            length = planner.string(start, goals, 0.0)[2]
            assert length >= np.hypot(*(goal - start)) - 1e-3  # the file's numbers have six digits
            ours.append(length)
            theirs.append(query["length_xy"])
    assert len(ours) > 250
    assert np.mean(ours) <= np.mean(theirs)
