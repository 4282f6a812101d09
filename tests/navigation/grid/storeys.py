"""Buildings of several storeys drawn at random, and grids over them."""

import json
import math

import numpy as np

from crowdsim.errors import ScenarioError
from crowdsim.navigation.grid.floors import build_floor_grid
from crowdsim.navigation.grid.ground import HOME
from crowdsim.navigation.grid.parameters import GridParameters
from crowdsim.scenario.load import parse_scenario
from crowdsim.setup.build import build_world

WIDTH, DEPTH, STOREY_M = 16.0, 12.0, 2.4


def building(seed, *, ramps=False):
    """A scenario of two to four storeys with obstacles, stairs and ramps, turned by some angle; or with ramps
    alone, which are walked as fast as floors, and no terrain.
    """
    rng = np.random.default_rng(seed)
    while True:
        try:
            return parse_scenario(json.dumps(document(rng, ramps)))
        except ScenarioError:  # a stair does not fit, or ends in an obstacle
            continue


def document(rng, ramps):
    """What such a scenario says."""
    angle = rng.choice([0.0, math.pi / 2.0, rng.uniform(0.0, 2.0 * math.pi)])
    cos, sin = math.cos(angle), math.sin(angle)

    def turned(*points):
        return [[round(x * cos - y * sin, 4), round(x * sin + y * cos, 4)] for x, y in points]

    def box(x0, y0, x1, y1):
        return {"polygon": turned((x0, y0), (x1, y0), (x1, y1), (x0, y1))}

    count = int(rng.integers(2, 5))
    storeys = []
    for number in range(count):
        obstacles = []
        for _ in range(int(rng.integers(0, 4))):
            x, y = rng.uniform(0.5, WIDTH - 3.0), rng.uniform(0.5, DEPTH - 3.0)
            obstacles.append(box(x, y, x + rng.uniform(0.3, 2.5), y + rng.uniform(0.3, 2.5)))
        walkable = [box(0.0, 0.0, WIDTH, DEPTH)]
        if rng.uniform() < 0.3:  # an L
            walkable = [box(0.0, 0.0, WIDTH, 0.6 * DEPTH), box(0.0, 0.0, 0.6 * WIDTH, DEPTH)]
        storeys.append(
            {
                "name": f"storey {number}",
                "elevation": STOREY_M * number,
                "walkable": walkable,
                "obstacles": obstacles,
            }
        )
    connections = []
    for number in range(count - 1):
        for lane in range(int(rng.integers(1, 3))):
            wide, run = rng.uniform(1.2, 2.5), rng.uniform(3.0, 6.0)
            x, y = rng.uniform(1.0, WIDTH - run - 1.0), rng.uniform(0.3, DEPTH - wide - 0.3)
            ends = [((x, y), (x, y + wide)), ((x + run, y), (x + run, y + wide))]
            if rng.uniform() < 0.5:
                ends = ends[::-1]
            speeds = {}
            if rng.uniform() < 0.3 and not ramps:
                speeds = {
                    "speed_up": float(rng.uniform(0.3, 1.0)),
                    "speed_down": float(rng.uniform(0.3, 1.2)),
                }
            connections.append(
                {
                    "name": f"flight {number}.{lane}",
                    "kind": str(rng.choice(["stair", "ramp"])) if not ramps else "ramp",
                    "lower": f"storey {number}",
                    "upper": f"storey {number + 1}",
                    "foot": turned(*ends[0]),
                    "head": turned(*ends[1]),
                    **speeds,
                }
            )
    terrain = []
    if rng.uniform() < 0.4 and not ramps:
        x, y = rng.uniform(0.0, WIDTH - 5.0), rng.uniform(0.0, DEPTH - 5.0)
        number = int(rng.integers(count))
        terrain.append(
            {
                "name": "carpet",
                "speed": float(rng.choice([0.5, 1.5])),
                "area": box(x, y, x + 4.0, y + 4.0),
                "storey": f"storey {number}",
            }
        )
    geometry = {
        "storeys": storeys,
        "connections": connections,
        "clearance": 2.0,
        **({"terrain": terrain} if terrain else {}),
    }
    return {"version": 1, "stop": {"after": 10}, "geometry": geometry, "groups": []}


def two_halls(obstacles=()):
    """Two halls of 16 m by 10 m, one above the other, and a stair of 2 m between them along x."""
    hall = {"polygon": [[0, 0], [16, 0], [16, 10], [0, 10]]}
    geometry = {
        "storeys": [
            {
                "name": "low",
                "elevation": 0.0,
                "walkable": hall,
                "obstacles": [{"polygon": each} for each in obstacles],
            },
            {"name": "high", "elevation": 2.4, "walkable": hall},
        ],
        "connections": [
            {
                "name": "stair",
                "lower": "low",
                "upper": "high",
                "foot": [[5, 5], [5, 7]],
                "head": [[9, 5], [9, 7]],
            }
        ],
    }
    return parse_scenario(json.dumps({"version": 1, "geometry": geometry, "groups": []}))


def grid_over(scenario, cell=0.4, *, keeps_off=True, **parameters):
    """The world of a scenario and the grid over its floors."""
    built = build_world(scenario)
    numbers = {"cell_size": cell, "agent_radius": 0.2, "object_padding": 0.1, **parameters}
    obstacles = [
        (layer, each.polygon)
        for layer, floor in enumerate(scenario.geometry.floors)
        for each in floor.obstacles
    ]
    grid = build_floor_grid(
        built.mesh_build.mesh,
        scenario.geometry.grounds,
        obstacles,
        GridParameters(**numbers),
        keeps_off=keeps_off,
    )
    return built, grid


def cells_on_floors(grid, radius=0.2):
    """The walkable cells as (floor, column, row in plan)."""
    floors = grid.ground.floors
    row, column = np.nonzero(grid.walkable(radius))
    floor = floors.of_row[row]
    return set(zip(floor.tolist(), column.tolist(), (row - floors.lift[floor]).tolist(), strict=True))


def node_on(grid, cell):
    """The node of a cell."""
    floor, column, row = cell
    return (row + int(grid.ground.floors.lift[floor]) + 1) * (grid.width + 2) + column + 1


def cell_on(grid, node):
    """The cell of a node."""
    row, column = int(node) // (grid.width + 2) - 1, int(node) % (grid.width + 2) - 1
    floor = int(grid.ground.floors.of_row[row])
    return floor, column, row - int(grid.ground.floors.lift[floor])


def centre_in_plan(grid, cell):
    """The centre of a cell, m."""
    size = grid.parameters.cell_size
    return grid.x + (cell[1] + 0.5) * size, grid.y + (cell[2] + 0.5) * size


def place_of(grid, cell):
    """The centre of a cell on the sheet, m."""
    x, y = centre_in_plan(grid, cell)
    return x, y + float(grid.sheet.rise[cell[0]])


def links_of(grid):
    """The table of neighbours near seams, as {cell: {direction: cell}}."""
    floors = grid.ground.floors
    return {
        cell_on(grid, node): {d: cell_on(grid, there) for d, there in enumerate(row[:HOME].tolist()) if there}
        for node, row in zip(floors.node.tolist(), floors.beside, strict=True)
        if row[HOME] == node
    }
