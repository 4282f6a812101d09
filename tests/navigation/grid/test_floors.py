"""Cells over several floors: each lies on one floor, steps and lines go on over seams and nowhere else,
and paths are the quickest over all floors.
"""

import itertools
import math

import numpy as np
import pytest
import shapely

from crowdsim.errors import NavigationError
from crowdsim.geometry.floor_plans import Terrain
from crowdsim.kernels.threads import Team
from crowdsim.navigation.corridor.measure import measure_corridors
from crowdsim.navigation.goals.goals import GoalShape, cut_goals
from crowdsim.navigation.grid.cascade import nearest_walkable
from crowdsim.navigation.grid.floors import build_floor_grid
from crowdsim.navigation.grid.grid import MOST_CELLS
from crowdsim.navigation.grid.layout import Shut
from crowdsim.navigation.grid.obstacles import StationaryDiscs, stamp_stationary
from crowdsim.navigation.grid.parameters import GridParameters, PathParameters
from crowdsim.navigation.grid.planner import FoundOverCells, GridPlanner
from crowdsim.navigation.grid.search import GENERATION_SHIFT, NEED, TAKEN, make_slots, new_generation
from crowdsim.navigation.grid.sight import is_in_sight
from crowdsim.navigation.mesh.mesh import locate_many
from crowdsim.navigation.planning.mesh_planner import MeshPlanner
from crowdsim.navigation.planning.portals import FoundCorridors
from crowdsim.navigation.planning.protocol import Asked
from crowdsim.scenario.geometry import joins_of
from tests.navigation.grid.storeys import (
    building,
    cell_on,
    cells_on_floors,
    centre_in_plan,
    grid_over,
    links_of,
    place_of,
    two_halls,
)
from tests.navigation.grid.worlds import NAMES, OneSearch
from tests.reference.grid_floors import STEPS, Plans, all_steps, costs_from

RADIUS = 0.2
HALF_DIAGONAL = math.sqrt(0.5)  # of a cell


def plans_of(scenario, grid):
    """The floors of a scenario as the twin knows them."""
    floors = [
        (
            floor.ground,
            floor.plane.slope,
            *((floor.flight.speed_up, floor.flight.speed_down) if floor.flight else (1.0, 1.0)),
        )
        for floor in scenario.geometry.floors
    ]
    joins = [(join.floors, join.line) for join in joins_of(scenario.geometry.floors)]
    return Plans(floors, joins, grid.x, grid.y, grid.parameters.cell_size)


def terrain_of(scenario, grid, cells):
    """Speeds of terrain, by cell."""
    found = {}
    for floor, terrain in enumerate(scenario.geometry.terrain):
        for each in terrain:
            assert isinstance(each, Terrain)
            found |= {
                cell: each.speed
                for cell in cells
                if cell[0] == floor and each.area.contains(shapely.Point(centre_in_plan(grid, cell)))
            }
    return found


def steps_of(scenario, grid, walkable):
    """The steps that agents can take, as the twin has them but for the table of links, and what they cost."""
    plans, speed = plans_of(scenario, grid), terrain_of(scenario, grid, walkable)
    plans.fastest = max([plans.fastest, *speed.values()])
    lift = grid.ground.floors.lift
    barred = {
        (cell, d)
        for cell in walkable
        for d in range(8)
        if grid.bars[cell[2] + int(lift[cell[0]]), cell[1]] >> d & 1
    }
    return all_steps(
        walkable,
        links_of(grid),
        lambda cell, d: plans.metre(cell[0], *STEPS[d]) / speed.get(cell, 1.0),
        barred,
    )


def cells_with_ground(grid):
    """All cells that have ground, as (floor, column, row in plan)."""
    floors = grid.ground.floors
    row, column = np.nonzero(grid.clearance > -0.5)
    floor = floors.of_row[row]
    return set(zip(floor.tolist(), column.tolist(), (row - floors.lift[floor]).tolist(), strict=True))


@pytest.mark.sample(2)
@pytest.mark.parametrize("seed", range(30))
def test_a_cell_lies_on_each_floor_that_has_ground_under_its_centre(seed):
    scenario = building(seed)
    _, grid = grid_over(scenario, 0.4)
    ground = cells_with_ground(grid)
    for number, floor in enumerate(scenario.geometry.floors):
        left, low, right, high = floor.ground.bounds
        columns = range(int((left - grid.x) / 0.4) - 2, int((right - grid.x) / 0.4) + 3)
        rows = range(int((low - grid.y) / 0.4) - 2, int((high - grid.y) / 0.4) + 3)
        for column, row in itertools.product(columns, rows):
            point = shapely.Point(centre_in_plan(grid, (number, column, row)))
            if floor.ground.boundary.distance(point) > 1e-5:
                assert floor.ground.contains(point) == ((number, column, row) in ground)


@pytest.mark.sample(2)
@pytest.mark.parametrize("seed", range(40))
def test_steps_near_seams_lead_where_a_straight_line_does_and_cut_no_corner(seed):
    scenario = building(seed)
    _, grid = grid_over(scenario, 0.4)
    plans, ground, links = plans_of(scenario, grid), cells_with_ground(grid), links_of(grid)
    lift, over = grid.ground.floors.lift, 0

    def wanted(cell, d):
        end = (cell[1] + STEPS[d][0], cell[2] + STEPS[d][1])
        floor = plans.over(cell[0], plans.centre(*cell[1:]), plans.centre(*end))
        if floor in (None, "tie"):
            return floor
        return (floor, *end) if (floor, *end) in ground else None

    def found(cell, d):
        there = links[cell].get(d)
        is_barred = (
            there is not None
            and there[0] == cell[0]
            and (grid.bars[cell[2] + int(lift[cell[0]]), cell[1]] >> d & 1)
        )
        return None if is_barred else there

    for cell in links:
        for d in range(8):
            want = wanted(cell, d)
            got = found(cell, d)
            if d % 2 and want is not None:
                sides = [wanted(cell, (d + turn) % 8) for turn in (1, 7)]
                ends = [
                    want if side in (None, "tie") else wanted(side, (d - turn) % 8)
                    for side, turn in zip(sides, (1, 7), strict=True)
                ]
                if "tie" in (want, *sides, *ends):
                    continue
                got = got if all(found(cell, (d + turn) % 8) for turn in (1, 7)) else None
                is_plain = all(side is not None and side[0] == cell[0] == want[0] for side in sides)
                if None in sides or any(end != want for end in ends if end is not None or not is_plain):
                    want = None
            if want != "tie":
                assert got == want
                over += want is not None and want[0] != cell[0]
    assert over > 20


@pytest.mark.sample(2)
@pytest.mark.parametrize("seed", range(60))
def test_every_path_costs_what_dijkstra_says_over_all_floors(seed):
    scenario = building(seed)
    _, grid = grid_over(scenario, 0.4)
    walkable = cells_on_floors(grid)
    steps, one, rng = steps_of(scenario, grid, walkable), OneSearch(grid), np.random.default_rng(seed)
    cells, changes = sorted(walkable), 0
    for _ in range(3):
        start = cells[rng.integers(len(cells))]
        costs = costs_from(steps, start)
        for end in (cells[number] for number in rng.integers(0, len(cells), 8).tolist()):
            outcome, _, cost, _ = one.find(place_of(grid, start), place_of(grid, end), RADIUS)
            assert (outcome == "found") == (end in costs)
            if end in costs:
                # planes of the mesh are those of the plan up to rounding
                assert cost == pytest.approx(costs[end], rel=1e-6)
                path = [cell_on(grid, node) for node in one.nodes()]
                assert path[0] == start and path[-1] == end
                assert all(b in dict(steps(a)) for a, b in itertools.pairwise(path))
                changes += sum(a[0] != b[0] for a, b in itertools.pairwise(path))
    assert changes > 0


@pytest.mark.parametrize("grant", [1, 7, 100])
def test_slices_change_nothing(grant):
    scenario = building(2)
    _, grid = grid_over(scenario, 0.4)
    cells, rng = sorted(cells_on_floors(grid)), np.random.default_rng(2)
    for _ in range(4):
        start, end = (place_of(grid, cells[number]) for number in rng.integers(0, len(cells), 2).tolist())
        whole, sliced = OneSearch(grid), OneSearch(grid)
        assert whole.find(start, end, RADIUS) == sliced.find(start, end, RADIUS, grant=grant)
        for a, b in zip(whole.slots, sliced.slots):
            np.testing.assert_array_equal(a, b)


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "seed, radius",
    [(3, RADIUS + 0.2), (6, RADIUS + 0.4), *((seed, RADIUS) for seed in range(12)), (12, RADIUS + 0.4)],
)
def test_a_tree_that_is_shared_holds_the_cost_from_every_cell_up_and_down(seed, radius):
    """Stairs are climbed more slowly than they are gone down: a tree grows back from the goal. For wide
    bodies a third of the ground and more is cut off from it.
    """
    scenario = building(seed)
    _, grid = grid_over(scenario, 0.4)
    # it is grown for the widest that share it, which are as wide as these
    least = math.floor((radius + grid.parameters.object_padding) / 0.1 + 1e-9) * 0.1
    walkable = cells_on_floors(grid, least - grid.parameters.object_padding)
    goal = sorted(walkable)[np.random.default_rng(seed).integers(len(walkable))]
    planner = GridPlanner(grid, np.array([place_of(grid, goal)]))
    many = np.tile(place_of(grid, goal), (40, 1))
    planner.submit(0, np.arange(40), many, np.full(40, -1), np.zeros(40, dtype=np.int32), np.full(40, radius))
    planner.advance(1 << 40, Team(1))
    back = {}
    for cell in walkable:
        for there, cost in steps_of_once(scenario, grid, walkable)(cell):
            back.setdefault(there, []).append((cell, cost))
    costs = costs_from(lambda cell: back.get(cell, ()), goal)
    tree = planner._slots.to_go[0]
    found = {cell_on(grid, node): float(tree[node]) for node in np.flatnonzero(np.isfinite(tree)).tolist()}
    assert found.keys() == set(walkable)
    cut_off = {cell: -1.0 - left for cell, left in found.items() if left < 0.0}
    nearest = [cell for cell, left in cut_off.items() if left == 0.0]
    parts = [costs_from(lambda cell: back.get(cell, ()), cell) for cell in nearest]
    assert cut_off == pytest.approx(
        {cell: min(part.get(cell, np.inf) for part in parts) for cell in cut_off}, rel=1e-6
    )
    assert radius == RADIUS or len(found) - len(costs) > 500
    found = {cell: left for cell, left in found.items() if left >= 0.0}
    assert found.keys() == costs.keys() and len(found) > 500
    assert all(found[cell] == pytest.approx(cost, rel=1e-6) for cell, cost in costs.items())


_steps = {}


def steps_of_once(scenario, grid, walkable):
    """The same function for the same grid."""
    if id(grid) not in _steps:
        _steps.clear()
        _steps[id(grid)] = steps_of(scenario, grid, walkable)
    return _steps[id(grid)]


def asked_at_random(built, grid, seed, count=12):
    """Paths between cells of all floors."""
    rng, cells, mesh = np.random.default_rng(seed), sorted(cells_on_floors(grid)), built.mesh_build.mesh
    starts, ends = ([cells[number] for number in rng.integers(0, len(cells), count)] for _ in range(2))
    goals = cut_goals(
        mesh, [GoalShape(shapely.Point(centre_in_plan(grid, end)), 0.01, layer=end[0]) for end in ends]
    )
    position = np.array([centre_in_plan(grid, start) for start in starts])
    polygon, layer = np.empty(count, dtype=np.int64), np.array([start[0] for start in starts], dtype=np.int32)
    locate_many(0, count, mesh, position, layer, polygon)
    return Asked(mesh, goals, position, polygon, np.arange(count, dtype=np.int32), np.full(count, RADIUS))


def planner_for(grid, asked, **parameters):
    planner = GridPlanner(grid, np.zeros((0, 2)), PathParameters(**parameters))
    planner.stand_on(asked.mesh, asked.goals)
    return planner


@pytest.mark.sample(3)
@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("sight", ["exact", "sampled"])
def test_a_string_is_on_its_floor_clear_of_walls_and_costs_no_more_than_the_cells(seed, sight):
    scenario = building(seed)
    built, grid = grid_over(scenario, 0.3, object_padding=0.0)
    asked = asked_at_random(built, grid, seed)
    planner = planner_for(grid, asked, sight=sight)
    found = FoundOverCells(planner, asked)
    floors, plans = scenario.geometry.floors, plans_of(scenario, grid)
    seams = [(set(join.floors), shapely.LineString(join.line)) for join in joins_of(floors)]
    in_space, cost = np.zeros(12), np.zeros(12)
    ends, terrain = {}, scenario.geometry.terrain
    plans.fastest = grid.fastest
    for line in found.lines():
        points, floor = line.points, floors[line.layer]
        height = floor.plane.height(points)
        in_space[line.row] += np.sqrt(
            np.sum(np.diff(points, axis=0) ** 2, axis=1) + np.diff(height) ** 2
        ).sum()
        samples = shapely.line_interpolate_point(
            shapely.LineString(points), np.linspace(0.0, 1.0, 100), normalized=True
        )
        assert shapely.distance(floor.ground, samples).max() < 1e-6
        own = [seam.buffer(1e-6) for pair, seam in seams if line.layer in pair]
        walls = shapely.difference(floor.ground.boundary, shapely.union_all(own))
        kept = RADIUS - HALF_DIAGONAL * 0.3 if sight == "exact" else 0.0
        assert shapely.distance(walls, samples).min() > kept - 1e-6
        for (ax, ay), (bx, by) in itertools.pairwise(points.tolist()):
            if (ax, ay) == (bx, by):
                continue
            speeds = [
                next((each.speed for each in (terrain[line.layer] if terrain else ()) if each.area.contains(
                    shapely.Point(ax + (bx - ax) * t, ay + (by - ay) * t))), 1.0)
                for t in np.linspace(0.005, 0.995, 100).tolist()
            ]  # fmt: skip
            metre = plans.metre(line.layer, bx - ax, by - ay) * float(np.mean(1.0 / np.array(speeds)))
            cost[line.row] += math.dist((ax, ay), (bx, by)) * metre
        if line.row in ends:  # it goes on where it came to a seam
            assert ends[line.row] == pytest.approx(points[0].tolist(), abs=1e-6)
        ends[line.row] = points[-1].tolist()
    length, answered = found.lengths(), found.piece >= 0
    assert answered.sum() > 3 and in_space[answered] == pytest.approx(length[answered], rel=1e-6)
    if not terrain:  # cells know seams up to half a cell
        dearest = float(grid.ground.floors.metre.max())
        off = np.array(
            [len({line.layer for line in found.lines() if line.row == row}) - 1 for row in range(12)]
        )
        most = found.lengths(in_time=True) * grid.fastest + off * 0.3 * HALF_DIAGONAL * (dearest - 1.0)
        assert (cost[answered] <= most[answered] + 1e-4).all()


@pytest.mark.sample(2)
@pytest.mark.parametrize("seed", range(40))
def test_a_path_is_never_shorter_than_the_optimum_on_the_mesh_and_hardly_longer_over_ramps(seed):
    """In plan, where all cells are gone over at one speed. It is never shorter than the shortest for a body
    that is narrower by half the diagonal of a cell: so near to a wall a line may come within a cell.
    """
    scenario = building(seed, ramps=True)
    built, grid = grid_over(scenario, 0.2, object_padding=0.0)
    asked = asked_at_random(built, grid, seed)
    found, length = FoundOverCells(planner_for(grid, asked), asked), np.zeros(12)
    for line in found.lines():
        length[line.row] += np.hypot(*np.diff(line.points, axis=0).T).sum()

    def excess(radius):
        radii, optimum = np.full(12, radius), np.empty(12)
        shortest = MeshPlanner(asked.mesh, asked.goals, kind="optimal")
        best = FoundCorridors(shortest, asked._replace(radius=radii))
        measure_corridors(
            asked.mesh, asked.goals, best._portals, best._start, best._size, asked.polygon, best.piece,
            asked.position, radii, optimum,
        )  # fmt: skip
        both = (found.piece >= 0) & (best.piece >= 0) & (optimum > 1.0)
        return length[both] / optimum[both]

    assert len(excess(RADIUS)) > 3 and excess(RADIUS).mean() < 1.08
    assert excess(RADIUS - HALF_DIAGONAL * 0.2).min() > 1.0 - 1e-4


def test_no_line_of_sight_goes_through_a_ceiling_and_one_over_a_seam_is_free():
    """Above and below one another nothing is seen; up the stair it is."""
    _, grid = grid_over(two_halls(), 0.2)
    slots = make_slots(1, (grid.width + 2) * (grid.depth + 2))
    slots.measure[0, NEED] = 0.3
    new_generation(slots, 0)

    def sees(a, b):
        (begin, end) = (grid.sheet.place_of(np.array([xy]), np.array([floor]))[0] for *xy, floor in (a, b))
        return is_in_sight(slots, 0, grid.ground, *begin.tolist(), *end.tolist(), 0.0)

    assert sees((2, 2, 0), (12, 2, 0)) and sees((2, 2, 1), (12, 2, 1))
    assert not sees((2, 2, 0), (12, 2, 1)) and not sees((2, 2, 0), (2.4, 2, 1))
    # the stair leads from x = 5 to x = 9, between y = 5 and y = 7
    assert sees((3, 6, 0), (7, 6, 2)) and sees((7, 6, 2), (3, 6, 0)) and sees((3, 6, 0), (11, 6, 1))
    assert not sees((3, 6, 0), (11, 6, 0)), "the ground below the stair is cut away"
    assert not sees((3, 3, 0), (7, 6, 2)) and not sees((7, 4.4, 0), (7, 6, 2)), "past its side"
    assert not sees((3, 6, 1), (7, 6, 2))


def taken_by(grid, *discs):
    """The cells that stationary agents, (x, y, floor, radius), block."""
    slots = make_slots(1, (grid.width + 2) * (grid.depth + 2))
    slots.measure[0, NEED] = 0.3
    new_generation(slots, 0)
    place = grid.sheet.place_of(np.array([each[:2] for each in discs]), np.array([each[2] for each in discs]))
    rows = np.column_stack([place, [each[3] for each in discs]])
    stamp_stationary(slots, 0, grid.ground, StationaryDiscs(rows, 0, len(rows), 1.0))
    mark = slots.mark[0]
    return {
        cell_on(grid, node)
        for node in np.flatnonzero((mark >> GENERATION_SHIFT == 1) & (mark & TAKEN != 0)).tolist()
    }


def test_a_stationary_agent_blocks_cells_of_its_floor_and_at_a_seam_of_the_floor_beyond():
    _, grid = grid_over(two_halls(), 0.2)
    walkable = cells_on_floors(grid)

    def within(floors, x, y, radius):
        return {
            cell
            for cell in walkable
            if cell[0] in floors and math.dist(centre_in_plan(grid, cell), (x, y)) <= radius
        }

    for floor in (0, 1):  # one above the other
        assert taken_by(grid, (2.03, 2.04, floor, 0.5)) == within({floor}, 2.03, 2.04, 0.5) != set()
    at_foot = taken_by(grid, (4.93, 6.04, 0, 0.5))
    assert at_foot == within({0, 2}, 4.93, 6.04, 0.5) and {cell[0] for cell in at_foot} == {0, 2}
    assert taken_by(grid, (5.03, 6.04, 2, 0.5)) == within({0, 2}, 5.03, 6.04, 0.5)
    # beside the stair, behind its wall, it is on its own floor alone
    assert {cell[0] for cell in taken_by(grid, (6.5, 4.5, 0, 0.9))} == {0}


def test_clearance_is_the_distance_to_walls_over_seams_too():
    """A pillar stands just before the foot of the stair: cells on the stair keep off it."""
    scenario = two_halls(obstacles=[[[4.5, 5.5], [4.8, 5.5], [4.8, 6.2], [4.5, 6.2]]])
    _, grid = grid_over(scenario, 0.1, widest_body=0.6)
    floors, geometry = grid.ground.floors, scenario.geometry
    foot = shapely.LineString([(5, 5), (5, 7)])
    edges = [shapely.difference(geometry.floors[floor].ground.boundary, foot) for floor in (0, 2)]
    checked = 0
    for cell in cells_with_ground(grid):
        x, y = centre_in_plan(grid, cell)
        if cell[0] in (0, 2) and 3.0 < x < 6.5 and 5.0 < y < 7.0:
            clearance = grid.clearance[cell[2] + int(floors.lift[cell[0]]), cell[1]]
            pillar = shapely.Point(x, y).distance(geometry.floors[0].obstacles[0].polygon)
            wall = min(edge.distance(shapely.Point(x, y)) for edge in edges) + grid.parameters.object_padding
            want = min(pillar, wall)
            if want < grid.reach - 1e-6:
                assert clearance == pytest.approx(want, abs=1e-6)
                checked += cell[0] == 2 and pillar < wall
    assert checked > 10


@pytest.mark.parametrize("floor", [0, 1])
def test_what_is_put_up_on_a_floor_is_in_the_way_there_and_not_above_or_below(floor):
    _, grid = grid_over(two_halls(), 0.2)
    before = cells_on_floors(grid)
    grid.show([Shut("door", shapely.box(9.4, 0.0, 9.6, 3.0), is_ground=True, layer=floor)])
    lost = before - cells_on_floors(grid)
    assert lost and {cell[0] for cell in lost} == {floor}
    assert all(9.4 - 0.21 < centre_in_plan(grid, cell)[0] < 9.6 + 0.21 for cell in lost)
    grid.show([])
    assert cells_on_floors(grid) == before


def test_a_cart_at_the_foot_of_a_stair_shuts_the_stair_too():
    """It stands on the floor, 10 cm before the seam: bodies on the stair keep their radius from it."""
    _, grid = grid_over(two_halls(), 0.1)
    before, bars = cells_on_floors(grid), grid.bars.copy()
    grid.put_up("cart", shapely.box(4.5, 5.0, 4.9, 7.0), 0)
    lost = before - cells_on_floors(grid)
    on_stair = [centre_in_plan(grid, cell)[0] for cell in lost if cell[0] == 2]
    # 0.2 m and a padding of 0.1 m from the cart
    assert on_stair and max(on_stair) < 4.9 + 0.3 + 1e-6 and min(on_stair) < 5.06
    one = OneSearch(grid)
    start, end = (
        grid.sheet.place_of(np.array([xy]), np.array([at]))[0] for xy, at in (((2, 6), 0), ((7, 6), 2))
    )
    assert one.find(tuple(start), tuple(end), RADIUS)[0] != "found"
    grid.take_down("cart")
    assert cells_on_floors(grid) == before and np.array_equal(grid.bars, bars)
    assert one.find(tuple(start), tuple(end), RADIUS)[0] == "found"


def test_a_goal_that_cannot_be_reached_is_approached_on_its_own_floor():
    """The door of a room upstairs is shut: one waits before it, and not below the room."""
    _, grid = grid_over(two_halls(), 0.2)
    start, end = (
        grid.sheet.place_of(np.array([xy]), np.array([at]))[0] for xy, at in (((3, 2), 0), ((14, 2), 1))
    )
    one = OneSearch(grid)
    assert one.find(tuple(start), tuple(end), RADIUS)[0] == "found"
    grid.show([Shut("room", shapely.box(12, -1, 12.2, 11), is_ground=True, layer=1)])
    outcome, node, *_ = one.find(tuple(start), tuple(end), RADIUS)
    floor, *cell = cell_on(grid, node_on_sheet(grid, node))
    assert (outcome, floor) == ("nearest reachable", 1)
    x, y = centre_in_plan(grid, (floor, *cell))
    assert 11.5 < x < 12.0 and abs(y - 2.0) < 0.2


def node_on_sheet(grid, cell):
    """The node of a cell of the sheet."""
    return (cell[1] + 1) * (grid.width + 2) + cell[0] + 1


def test_a_point_off_the_cells_is_moved_on_its_own_floor_and_else_over_a_seam():
    """Bodies of 1.1 m do not fit on a stair of 2 m: one that is there is moved to the nearest cell of a floor
    that meets it.
    """
    _, grid = grid_over(two_halls(), 0.2, widest_body=1.5)
    slots = make_slots(1, (grid.width + 2) * (grid.depth + 2))
    new_generation(slots, 0)

    def moved(x, y, floor, radius):
        slots.measure[0, NEED] = grid.need(radius)
        place = grid.sheet.place_of(np.array([[x, y]]), np.array([floor]))[0]
        return cell_on(grid, nearest_walkable(slots, 0, grid.ground, *place.tolist(), 40))

    for floor in (0, 1):
        cell = moved(0.05, 0.05, floor, 0.5)
        assert cell[0] == floor and math.dist(centre_in_plan(grid, cell), (0.5, 0.5)) < 0.3
    assert moved(7.0, 6.0, 2, 0.5)[0] == 2
    assert moved(7.0, 6.0, 2, 1.1)[0] in (0, 1)


def test_padding_from_edges_of_areas_is_kept_from_walls_and_not_from_seams():
    _, grid = grid_over(two_halls(), 0.1, keeps_off=False, boundary_padding=0.5)
    cells = cells_on_floors(grid, 0.0)
    assert not any(centre_in_plan(grid, cell)[0] < 0.5 - 1e-6 for cell in cells if cell[0] < 2)
    on_stair = [centre_in_plan(grid, cell) for cell in cells if cell[0] == 2]
    assert min(x for x, _ in on_stair) < 5.1 and max(x for x, _ in on_stair) > 8.9
    assert min(y for _, y in on_stair) > 5.5 - 1e-6


def test_floors_of_which_none_is_level_are_one_sheet():
    """A slope of one floor: steps up it cost more than along it, and the sheet is the plan."""
    from crowdsim.scenario.load import parse_scenario

    polygons = [[[0, 0, 0], [10, 0, 5], [10, 10, 5], [0, 10, 0]]]
    scenario = parse_scenario(
        f'{{"version": 1, "geometry": {{"surface": {{"polygons": {polygons}}}}}, "groups": []}}'
    )
    _, grid = grid_over(scenario, 0.5)
    assert grid.sheet.is_plan and grid.has_floors and not grid.is_even
    one = OneSearch(grid)
    up, along = (one.find((1.0, 1.0), end, RADIUS)[2] for end in ((9.0, 1.0), (1.0, 9.0)))
    assert up == pytest.approx(along * math.sqrt(1.25), rel=1e-6)


def test_too_many_cells_of_all_floors_are_refused_before_they_are_made():
    scenario = two_halls()
    with pytest.raises(
        NavigationError, match=r"of 3 floors would have [\d,]+ cells of 0\.001 m in all"
    ) as refused:
        grid_over(scenario, 0.001)
    assert f"{MOST_CELLS:,}" in str(refused.value)


def test_a_grid_of_no_floor_is_refused():
    built, _ = grid_over(two_halls(), 0.4)
    with pytest.raises(NavigationError, match="needs ground"):
        build_floor_grid(built.mesh_build.mesh, [shapely.Polygon()], (), GridParameters())


@pytest.mark.sample(2)
@pytest.mark.parametrize("seed", range(20))
def test_lines_that_are_in_sight_are_laid_on_floors_as_the_twin_does_it(seed):
    scenario = building(seed)
    _, grid = grid_over(scenario, 0.3)
    plans, cells, rng = plans_of(scenario, grid), sorted(cells_on_floors(grid)), np.random.default_rng(seed)
    slots = make_slots(1, (grid.width + 2) * (grid.depth + 2))
    slots.measure[0, NEED] = grid.need(RADIUS)
    new_generation(slots, 0)
    on_stairs = [cell for cell in cells if scenario.geometry.floors[cell[0]].flight is not None]
    seams = checked = 0
    for _ in range(3000):
        a, b = on_stairs[rng.integers(len(on_stairs))], cells[rng.integers(len(cells))]
        begin, end = place_of(grid, a), place_of(grid, b)
        if a == b or not is_in_sight(slots, 0, grid.ground, *begin, *end, 0.0):
            continue
        want = plans.laid(a[0], centre_in_plan(grid, a), centre_in_plan(grid, b))
        found, start, length = grid.laid_on_floors(np.array([begin, end]), np.array([0, 2]))
        assert start.tolist() == [0, len(want)]
        assert grid.sheet.plan_of(found) == pytest.approx(np.array([each[:2] for each in want]), abs=1e-6)
        assert grid.sheet.floors_of(found).tolist() == [each[2] for each in want]
        points, in_space = [(*centre_in_plan(grid, a), a[0]), *want], 0.0
        for (ax, ay, _), (bx, by, floor) in itertools.pairwise(points):
            height = scenario.geometry.floors[floor].plane.height(np.array([[ax, ay], [bx, by]]))
            in_space += math.hypot(bx - ax, by - ay, float(height[1] - height[0]))
        assert length[0] == pytest.approx(in_space, rel=1e-5)  # planes of the mesh are those of the plan
        again, *_ = grid.laid_on_floors(np.vstack([[begin], found]), np.array([0, 1 + len(found)]))
        assert again == pytest.approx(found, abs=1e-6), "what is laid is laid"
        seams, checked = seams + len(want) - 1, checked + 1
    assert checked > 20 and seams > 5


def test_paths_have_a_waypoint_at_each_seam_and_names_of_outcomes_are_the_same():
    scenario = two_halls()
    _, grid = grid_over(scenario, 0.2)
    place = grid.sheet.place_of(np.array([[2.0, 6.0], [14.0, 6.0]]), np.array([0, 1]))
    planner = GridPlanner(grid, place[1:])
    planner.submit(
        0, np.array([1]), place[:1], np.array([-1]), np.zeros(1, dtype=np.int32), np.array([RADIUS])
    )
    answers, _ = planner.advance(1 << 40, Team(1))
    assert NAMES[int(answers.status[0])] == "found"
    assert grid.sheet.floors_of(answers.waypoint).tolist() == [0, 2, 1]
    assert grid.sheet.plan_of(answers.waypoint).tolist() == pytest.approx(
        np.array([[5.0, 6.0], [9.0, 6.0], [14.0, 6.0]]), abs=1e-9
    )
    # 3 m, 4 m up by 2.4 m, and 5 m
    assert answers.length[0] == pytest.approx(3.0 + math.hypot(4.0, 2.4) + 5.0, rel=1e-9)
    # at half the speed up the stair
    assert answers.cost[0] == pytest.approx(3.0 + 2.0 * math.hypot(4.0, 2.4) + 5.0, abs=0.5)
