"""Sectors and portals: each cell in one rectangle, and what was connected over cells is so over sectors."""

import numpy as np
import pytest
import shapely
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from crowdsim.kernels.threads import Team
from crowdsim.navigation import GoalShape, MeshPlanner, cut_goals
from crowdsim.navigation.mesh.mesh import is_in_sight, locate_at_height
from crowdsim.navigation.mesh.surface_mesh import build_surface
from crowdsim.navigation.soup.fill import FillRules, fill
from crowdsim.navigation.soup.ground import floors_of, patches_of, plates_of
from crowdsim.navigation.soup.sectors import gather
from tests.navigation.soup.scenes import block, filled, floor, quad, random_world, stair, wall
from tests.navigation.soup.test_fill import FINE, TILTED, standing_seed

EAST, NORTH, WEST, SOUTH = range(4)


def sector_of_each(cells, graph):
    """Return the sector of each cell, found by its place and its height."""
    table, sectors, found = cells.table(), graph.sectors, []
    for column, row, z in zip(table.column, table.row, table.z, strict=True):
        offset = np.array([column, row]) - sectors.first
        inside = np.flatnonzero(((offset >= 0) & (offset < sectors.size)).all(axis=1))
        plane = sectors.z[inside] + (sectors.slope[inside] * offset[inside] * graph.cell).sum(axis=1)
        plane += np.abs(sectors.slope[inside]).sum(axis=1) * cells.lattice.reach  # it lies under the middle
        near = inside[np.abs(plane - z) <= 0.5 * cells.rules.step_up + 1e-5]
        assert len(near) == 1, (column, row, z, near)
        found.append(int(near[0]))
    return np.array(found)


def portals_of(graph):
    """Return the steps that portals stand for, as (from sector, to sector, side, row or column)."""
    found = set()
    portals = graph.portals
    for (one, other), side, (first, last), is_two_way in zip(
        portals.sectors.tolist(),
        portals.side.tolist(),
        portals.span.tolist(),
        portals.is_two_way.tolist(),
        strict=True,
    ):
        for along in range(first, last + 1):
            found.add((one, other, side, along))
            if is_two_way:
                found.add((other, one, (side + 2) % 4, along))
    return found


@pytest.mark.sample(3)
@pytest.mark.parametrize("rules", [TILTED, FINE], ids=["as wide as cells", "wider than cells"])
@pytest.mark.parametrize("seed", range(200))
def test_sectors_connect_exactly_what_cells_connect(seed, rules):
    corners = random_world(seed, boxes=20, sheets=14)
    start = standing_seed(corners, rules)
    if start is None:
        pytest.skip("there is nowhere to stand in this world")
    cells = fill(corners, np.ones(len(corners), dtype=np.uint8), [start], rules)
    graph, table = gather(cells), cells.table()
    sector = sector_of_each(cells, graph)
    # each cell is in one sector, and each sector has as many as its size says
    assert np.array_equal(
        np.bincount(sector, minlength=len(graph.sectors.z)), np.prod(graph.sectors.size, axis=1)
    )
    # every step is inside a sector or through a portal, and portals have no others
    through = set()
    for side in range(4):
        rows = np.flatnonzero(table.neighbour[:, side] >= 0)
        there = table.neighbour[rows, side]
        leaves = rows[sector[rows] != sector[there]]
        along = table.row if side in (EAST, WEST) else table.column
        through |= {
            (int(sector[row]), int(sector[table.neighbour[row, side]]), side, int(along[row]))
            for row in leaves
        }
    assert through == portals_of(graph)
    # within a sector all cells are joined there and back
    inside = coo_array(
        (
            np.ones(4 * len(sector)),
            (np.repeat(np.arange(len(sector)), 4), np.maximum(table.neighbour, 0).ravel()),
        )
    )
    keep = (table.neighbour.ravel() >= 0) & (sector[inside.coords[0]] == sector[inside.coords[1]])
    same = coo_array(
        (inside.data[keep], (inside.coords[0][keep], inside.coords[1][keep])), shape=(len(sector),) * 2
    )
    count, _ = connected_components(same, connection="strong")
    assert count == len(graph.sectors.z)


def test_a_room_is_one_sector_and_a_door_one_portal():
    graph = gather(filled(floor(0, 0, 10, 5), wall(5.1, 0, 5.1, 2), wall(5.1, 3, 5.1, 5)))
    assert sorted(np.prod(graph.sectors.size, axis=1).tolist()) == [4, 380, 400]
    assert len(graph.portals.side) == 2 and graph.portals.is_two_way.all()
    assert not len(graph.barriers.side)


@pytest.mark.parametrize("turned", [False, True])
def test_a_stair_is_one_sector_on_its_slope_and_the_floors_are_level(turned):
    world = np.concatenate([floor(0, 0, 3, 2), stair(3, 0, 2, 0.0, 10), floor(6, 0, 9, 2, 1.8)])
    if turned:
        world = world[:, :, [1, 0, 2]]
    rules = FillRules(side=0.2, height=1.8, cell=0.1)
    graph = gather(filled(world, rules=rules))
    areas = np.prod(graph.sectors.size, axis=1) * 0.01
    large = np.argsort(-areas)[:3]
    assert areas[large].sum() > 0.97 * areas.sum()
    along = graph.sectors.slope[large, 1 if turned else 0]
    assert sorted(np.round(along, 1).tolist()) == [0.0, 0.0, 0.6]
    assert np.abs(graph.sectors.slope[large, 0 if turned else 1]).max() == 0.0


def test_ground_on_a_slope_lies_where_the_triangles_do():
    rules = FillRules(side=0.25, height=1.8, cell=0.25)
    ramp = quad([2, 0, 0], [12, 0, 4], [12, 6, 7], [2, 6, 3])
    graph = gather(filled(ramp, seed=(7, 3, 3.6), rules=rules))
    (largest,) = np.flatnonzero(np.prod(graph.sectors.size, axis=1) > 800)
    sectors = graph.sectors
    assert np.allclose(sectors.slope[largest], [0.4, 0.5], atol=0.02)
    middle = (sectors.first[largest] + 0.5 * sectors.size[largest]) * graph.cell
    height = sectors.z[largest] + sectors.slope[largest] @ ((sectors.size[largest] - 1) * 0.5 * graph.cell)
    assert height == pytest.approx(0.4 * (middle[0] - 2) + 0.5 * middle[1], abs=0.13)


@pytest.mark.sample(2)
@pytest.mark.parametrize("seed", range(60))
def test_the_mesh_of_the_sectors_joins_what_the_cells_join_and_nothing_else(seed):
    corners = random_world(seed, boxes=12, sheets=8)
    thin = [wall(x, 0.3, x, 4.1, -0.2, 2.0) for x in (1.25, 3.0)]  # between columns: barriers
    corners = np.concatenate([corners, *thin])
    rules = FillRules(side=0.25, height=1.8, cell=0.25)
    start = standing_seed(corners, rules)
    if start is None:
        pytest.skip("there is nowhere to stand in this world")
    cells = fill(corners, np.ones(len(corners), dtype=np.uint8), [start], rules)
    graph = gather(cells)
    patches, floors = patches_of(graph), floors_of(graph, 1.8)
    assert all(patch.ground.is_valid for patch in patches)
    area = sum(patch.ground.area for patch in patches)
    barriers = (graph.barriers.span[:, 1] - graph.barriers.span[:, 0] + 1).sum() * 0.25
    assert area == pytest.approx(
        len(cells) * 0.0625 - 0.01 * barriers, abs=1e-3 * (1 + len(graph.barriers.side))
    )
    mesh = build_surface(patches, floors, step=graph.step).mesh
    # polygons to plates, by the middle of each
    plate, sectors = plates_of(graph), graph.sectors
    ends = zip(mesh.polygon_start, mesh.polygon_start[1:], strict=False)
    middle = np.array([mesh.vertex[mesh.edge_vertex[first:last]].mean(axis=0) for first, last in ends])
    own = []
    for x, y, z in middle.tolist():
        offset = np.floor(np.array([x, y]) / 0.25).astype(int) - sectors.first
        inside = np.flatnonzero(((offset >= 0) & (offset < sectors.size)).all(axis=1))
        own.append(int(plate[inside[np.argmin(np.abs(sectors.z[inside] - z))]]))
    joined = {
        (own[mesh.edge_polygon[edge]], own[mesh.edge_polygon[mesh.edge_twin[edge]]])
        for edge in np.flatnonzero(mesh.edge_twin >= 0)
    }
    portals = {tuple(pair) for pair in plate[graph.portals.sectors[graph.portals.is_two_way]].tolist()}
    portals |= {(b, a) for a, b in portals}
    assert {pair for pair in joined if pair[0] != pair[1]} == {pair for pair in portals if pair[0] != pair[1]}
    # nobody sees through a barrier, though both sides of it may be one plate
    for (one, other), side, (first, last), _ in zip(
        *(array.tolist() for array in graph.barriers), strict=True
    ):
        along = 0.125 * (first + last + 1)
        line = 0.25 * (sectors.first[one] + sectors.size[one])[side]
        here, there = np.array([line - 0.02, along]), np.array([line + 0.02, along])
        if side == NORTH:
            here, there = here[::-1], there[::-1]
        z = [sectors.z[each] for each in (one, other)]
        a, b = (locate_at_height(mesh, *place, h) for place, h in zip((here, there), z, strict=True))
        assert a >= 0 and b >= 0
        assert not is_in_sight(mesh, a, *here, *there, mesh.polygon_layer[b])


def test_a_path_leads_over_no_seam_that_is_a_point_to_its_agent():
    """Where a wall ends in the middle of a floor of two plates, an agent comes by on the far side of the next
    corner of theirs, if that is only as far from the wall as the agent is wide.
    """
    corners = np.concatenate(
        [
            quad([0, 4, 1.0], [0, 8, 1.0], [8, 8, 0], [8, 4, 0]),
            floor(-0.5, 0, 12, 4),
            floor(8, 4, 12, 8),
            wall(0, 4, 8, 4, -0.5, 3.0),
        ]
    )
    rules = FillRules(side=0.25, height=1.8, cell=0.25)
    graph = gather(fill(corners, np.ones(len(corners), dtype=np.uint8), [(1, 1, 0)], rules))
    patches = patches_of(graph)
    mesh = build_surface(patches, floors_of(graph, 1.8), step=graph.step).mesh
    seen = 0
    for edge in np.flatnonzero(mesh.edge_twin >= 0).tolist():
        a, b = mesh.edge_vertex[edge], mesh.edge_end[edge]
        beside = [mesh.polygon_slope[mesh.edge_polygon[each]] for each in (edge, mesh.edge_twin[edge])]
        if mesh.is_wall_vertex[a] != mesh.is_wall_vertex[b] and not np.array_equal(*beside):
            assert mesh.edge_width[edge] < 2 * np.hypot(*(mesh.vertex[a] - mesh.vertex[b])[:2])
            seen += 1
    assert seen >= 2
    goals = cut_goals(mesh, [GoalShape(shapely.Point(6, 6), reach=0.3)])
    start, polygon = np.array([[8.2, 3.0]]), locate_at_height(mesh, 8.2, 3.0, 0.0)
    for radius in (0.2, 0.25, 0.3):
        planner = MeshPlanner(mesh, goals, kind="mesh")
        one = np.zeros(1, dtype=np.int32)
        planner.submit(0, one.astype(np.int64), start, np.array([polygon]), one, np.full(1, radius))
        path, _ = planner.advance(10_000, Team(1))
        assert path.piece[0] >= 0
        over = path.portals.tolist()
        ends = [(mesh.edge_vertex[edge], mesh.edge_end[edge]) for edge in over]
        half_free = [
            np.hypot(*(mesh.vertex[a] - mesh.vertex[b])[:2])
            for a, b in ends
            if mesh.is_wall_vertex[a] != mesh.is_wall_vertex[b]
        ]
        assert all(length > radius for length in half_free)


def test_floors_lie_one_above_the_other_and_are_numbered_from_below():
    world = [floor(0, 0, 6, 2, 0.0), stair(6, 0, 2, 0.0, 16), floor(10.8, 0, 14, 2, 2.88)]
    world += [floor(0, 0, 5, 2, 2.88), quad([5, 0, 2.88], [10.8, 1.9, 2.88], [10.8, 2, 2.88], [5, 2, 2.88])]
    graph = gather(filled(*world, rules=FillRules(side=0.2, height=1.8, cell=0.1)))
    patches, floors = patches_of(graph), floors_of(graph, 1.8)
    for number in range(int(floors.max()) + 1):
        own = [patch.ground for patch in patches if floors[patch.sheet] == number]
        assert sum(ground.area for ground in own) == pytest.approx(shapely.union_all(own).area, abs=1e-6)
    largest = [
        max(
            (patch for patch in patches if floors[patch.sheet] == number), key=lambda patch: patch.ground.area
        )
        for number in (0, int(floors.max()))
    ]
    assert [patch.plane.place[2] for patch in largest] == pytest.approx([0.0, 2.88])


def test_level_ground_is_one_plate_whatever_its_rectangles():
    pillars = [block(x, y, -0.1, x + 0.5, y + 0.5, 3.0) for x in (2, 4, 6) for y in (2, 4)]
    graph = gather(filled(floor(0, 0, 10, 7), *pillars))
    assert len(graph.sectors.z) > 8
    (patch,) = patches_of(graph)
    assert patch.ground.area == pytest.approx(70 - 6 * 0.25) and len(patch.ground.interiors) == 6
