"""Grid maps in scenarios: the grid is that of [Pathfinding undated], its numbers and its areas are taken,
and cells of a file are the cells one walks on.
"""

import json

import numpy as np
import pytest

from crowdsim.errors import ScenarioError
from crowdsim.navigation.grid.files import grid_to_text, load_grid
from crowdsim.scenario.load import load_scenario, parse_scenario
from crowdsim.setup.build import build_world, grid_of
from crowdsim.simulation.simulation import Simulation
from crowdsim.systems.plan import Plan
from crowdsim.world.columns import PathStatus
from tests.crowds import SCENARIOS
from tests.reference import s2_grid

PLANNERS = ("mesh", "optimal", "visibility", "grid", "s2-grid")

# Two rooms, a wall of 0.4 m between them with a door of 1.2 m, and a table.
ROOMS = {
    "cellSize": 0.4,
    "areas": [
        {"name": "left", "polygon": [[0, 0], [4, 0], [4, 4], [0, 4]]},
        {"name": "door", "polygon": [[4, 1.4], [4.4, 1.4], [4.4, 2.6], [4, 2.6]]},
        {"name": "right", "polygon": [[4.4, 0], [9, 0], [9, 4], [4.4, 4]]},
    ],
    "obstacles": [{"name": "table", "polygon": [[6, 1], [7, 1], [7, 3], [6, 3]]}],
}


def scene(
    navigation="s2-grid",
    walkable="{s2_file: map.json}",
    goal="{point: [8.5, 2]}",
    start="[0.5, 2]",
    more="",
    geometry="",
):
    return f"""
version: 1
geometry: {{walkable: {walkable}{geometry}}}
goals: {{out: {goal}}}
groups: [{{name: walker, positions: [{start}], speed: 1.3, goals: [out]}}]
navigation: {navigation}
stop: {{after: 40}}
{more}
"""


def scenario(folder, document=ROOMS, name="map.json", **how):
    (folder / name).write_text(document if isinstance(document, str) else json.dumps(document))
    return parse_scenario(scene(**how), file="t.yaml", folder=folder)


def cells(grid):
    return grid.x, grid.y, grid.walkable()


def assert_like_the_document(grid, areas, obstacles, **numbers):
    x, y, rows = s2_grid.grid_of(areas, obstacles, **numbers)
    assert (grid.x, grid.y) == pytest.approx((x, y), abs=1e-9) and (grid.depth, grid.width) == (
        len(rows),
        len(rows[0]),
    )
    want = np.array([[-1 if each is None else each for each in row] for row in rows])
    differs = (want >= 0) & (want != grid.walkable())
    assert not differs.any(), np.argwhere(differs)[:5]
    assert np.count_nonzero(want == 1) > 20 and np.count_nonzero(want < 0) < 0.1 * want.size


def random_map(seed):
    """Rooms that overlap, touch or stand apart, some closed, convex and concave, and tables;
    corners to the centimetre.
    """
    rng = np.random.default_rng(seed)

    def blob(size):
        corners = int(rng.integers(4, 9))
        angle = 2.0 * np.pi * (np.arange(corners) + rng.uniform(0.0, 0.9, corners)) / corners
        reach = rng.uniform(0.5, 1.0, len(angle)) * size
        ring = rng.uniform(0.0, 10.0, 2) + np.column_stack([reach * np.cos(angle), reach * np.sin(angle)])
        return np.round(ring, 2).tolist()

    rooms = [
        [[0.0, 0.0], [6.0, 0.0], [6.0, 5.0], [0.0, 5.0]],
        [[6.0, 1.0], [11.0, 1.0], [11.0, 4.0], [6.0, 4.0]],
        *(blob(4.0) for _ in range(3)),
    ]
    areas = [
        {"name": f"room {i}", "available": i < 1 or bool(rng.uniform() < 0.6), "polygon": ring}
        for i, ring in enumerate(rooms)
    ]
    return {"areas": areas, "obstacles": [{"polygon": blob(1.0)} for _ in range(3)]}


@pytest.mark.sample(3)
@pytest.mark.parametrize("seed", range(12))
def test_the_grid_of_a_scenario_is_the_documents(tmp_path, seed):
    rng = np.random.default_rng(100 + seed)
    document = random_map(seed)
    numbers = {"cell": 0.4, "radius": 0.45, "padding": 0.25, "boundary": 0.0}
    names = {
        "cell": "cellSize",
        "radius": "agentRadius",
        "padding": "objectPadding",
        "boundary": "boundaryPadding",
    }
    for name in numbers if seed else ():
        if rng.uniform() < 0.6:
            numbers[name] = round(float(rng.uniform(0.15, 0.6)), 2)
            document[names[name]] = numbers[name]
    found = scenario(tmp_path, document, start="[3.0, 2.5]", goal="{region: {box: [0, 0, 6, 5]}}")
    areas = [(each["polygon"], each["available"]) for each in document["areas"]]
    obstacles = [each["polygon"] for each in document["obstacles"]]
    assert_like_the_document(grid_of(build_world(found)), areas, obstacles, **numbers)
    again = parse_scenario(found.canonical(), file="t.yaml")  # as from a recording, without the file
    assert again.canonical() == found.canonical()
    for one, other in zip(cells(grid_of(build_world(found))), cells(grid_of(build_world(again)))):
        np.testing.assert_array_equal(one, other)


@pytest.mark.full
@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(6))
def test_areas_that_are_opened_and_closed_while_a_scenario_runs_leave_the_documents_grid(tmp_path, seed):
    document = random_map(seed)
    document["boundaryPadding"] = 0.25 * (seed % 2)
    open_now = {each["name"]: each["available"] for each in document["areas"]}
    obstacles, rng = [each["polygon"] for each in document["obstacles"]], np.random.default_rng(seed)
    found = scenario(
        tmp_path, document, start="[3.0, 2.5]", goal="{region: {box: [0, 0, 6, 5]}}", more="avoidance: none"
    )
    with Simulation(found, threads=1) as run:
        grid = run.system(Plan).paths[0].planner.grid
        for _ in range(8):
            name = f"room {rng.integers(1, 5)}"
            open_now[name] = not open_now[name]
            run.set_area_available(name, open_now[name])
            state = run.state()
            run.step()
            areas = [(each["polygon"], open_now[each["name"]]) for each in document["areas"]]
            assert_like_the_document(grid, areas, obstacles, boundary=document["boundaryPadding"])
            digest = run.digest
            run.restore(state)
            run.step()
            assert run.digest == digest
            assert_like_the_document(grid, areas, obstacles, boundary=document["boundaryPadding"])


AREAS = "[{box: [0, 0, 4, 4]}, {box: [4, 1.4, 4.4, 2.6]}, {box: [4.4, 0, 9, 4]}]"


@pytest.mark.sample(1)
@pytest.mark.parametrize("walkable", ["{s2_file: map.json}", AREAS], ids=["file", "areas"])
@pytest.mark.parametrize("navigation", PLANNERS)
def test_a_door_of_a_metre_and_twenty_between_two_rooms_lets_people_through(tmp_path, walkable, navigation):
    with Simulation(scenario(tmp_path, navigation=navigation, walkable=walkable), threads=1) as run:
        assert run.run().arrived == 1


@pytest.mark.sample(1)
@pytest.mark.parametrize("model", ["none", "orca", "hrvo"])
@pytest.mark.parametrize("seed", range(8))
def test_a_lone_body_walks_every_way_of_the_documents_grid_that_it_fits_through(tmp_path, seed, model):
    """Cells lie nearer to walls than bodies get, lines of sight graze corners:
    neither holds anybody up for good.
    """
    rng = np.random.default_rng(seed)
    areas, door = [], 0.9
    for i in range(3):
        for j in range(3):
            x, y = 6.0 * i, 6.0 * j
            areas.append([x, y, x + 5.8, y + 5.8])
            at = rng.uniform(0.3, 5.5 - door, 2)
            areas += [[x + 5.8, y + at[0], x + 6.0, y + at[0] + door]] if i < 2 else []
            areas += [[x + at[1], y + 5.8, x + at[1] + door, y + 6.0]] if j < 2 else []
    walkable = ", ".join(f"{{box: {np.round(box, 3).tolist()}}}" for box in areas)
    found = scenario(
        tmp_path,
        walkable=f"[{walkable}]",
        start="[1, 1]",
        goal="{region: {box: [16, 16, 17.8, 17.8]}}",
        more=f"avoidance: {model}",
    )
    with Simulation(found, threads=1) as run:
        assert run.run().arrived == 1


def test_the_numbers_of_a_file_are_taken_and_the_scenario_has_the_last_word(tmp_path):
    said = {**ROOMS, "cellSize": 0.3, "agentRadius": 0.5, "objectPadding": 0.1, "boundaryPadding": 0.05}
    for navigation in ("s2-grid", "grid"):
        values = scenario(tmp_path, said, navigation=navigation).navigation.values
        assert [
            values[name] for name in ("cell_size", "agent_radius", "object_padding", "boundary_padding")
        ] == [0.3, 0.5, 0.1, 0.05]
    found = scenario(tmp_path, said, navigation="{kind: s2-grid, cell_size: 0.25, agent_radius: 0.5}")
    assert found.navigation.values["cell_size"] == 0.25 and found.navigation.values["object_padding"] == 0.1
    assert [(note.item, note.message) for note in found.notes] == [
        ("navigation.cell_size", "is 0.25, but map.json says cellSize 0.3: 0.25 counts")
    ]
    group = scenario(tmp_path, said, navigation="mesh").groups[0]
    assert group.navigation is None
    text = scene(navigation="mesh").replace(
        "speed: 1.3", "speed: 1.3, navigation: {kind: s2-grid, object_padding: 0.2}"
    )
    own = parse_scenario(text, file="t.yaml", folder=tmp_path)
    assert own.groups[0].navigation.values["cell_size"] == 0.3
    assert [note.item for note in own.notes] == ["groups[0].navigation.object_padding"]


def test_numbers_that_nobody_asks_for_and_a_height_are_told(tmp_path):
    notes = [note.message for note in scenario(tmp_path, {**ROOMS, "floorY": 2}, navigation="mesh").notes]
    assert notes == [
        "map.json says floorY 2, but the ground lies at height 0",
        "map.json says cellSize 0.4, which are numbers of a grid, and no group finds paths on one",
    ]


def test_files_that_disagree_are_refused_unless_the_scenario_says_which_counts(tmp_path):
    (tmp_path / "b.json").write_text(
        json.dumps({"cellSize": 0.5, "areas": [{"polygon": [[9, 0], [12, 0], [12, 4], [9, 4]]}]})
    )
    both = "[{s2_file: map.json}, {s2_file: b.json}]"
    with pytest.raises(ScenarioError, match=r"b\.json says cellSize 0\.5, but map\.json says 0\.4"):
        scenario(tmp_path, walkable=both)
    assert (
        scenario(tmp_path, walkable=both, navigation="{kind: s2-grid, cell_size: 0.5}").navigation.values[
            "cell_size"
        ]
        == 0.5
    )
    assert scenario(tmp_path, walkable=both, navigation="mesh")


@pytest.mark.sample(1)
@pytest.mark.parametrize("navigation", PLANNERS)
def test_an_area_that_is_not_available_opens_by_its_name_and_shuts_again(tmp_path, navigation):
    rooms = {**ROOMS, "areas": [{**each, "available": each["name"] != "door"} for each in ROOMS["areas"]]}
    with Simulation(
        scenario(tmp_path, rooms, navigation=navigation, more="events: [{at: 8, open: door}]"), threads=1
    ) as run:
        while run.time < 7.9:
            run.step()
        assert run.world.agents.position[0, 0] < 4.0 and run.world.agents.path_status[0] in (
            PathStatus.NEAREST_REACHABLE,
            PathStatus.UNREACHABLE,
        )
        assert run.run().arrived == 1
        assert run.time > 10.0
    with Simulation(
        scenario(tmp_path, navigation=navigation, more="events: [{at: 0.1, close: door}]"), threads=1
    ) as run:
        assert run.run().arrived == 0 and len(run.world.agents) == 1


@pytest.mark.full
@pytest.mark.sample(1)
@pytest.mark.parametrize("navigation", ["mesh", "grid", "s2-grid"])
def test_what_an_open_area_holds_stays_open_when_another_that_overlaps_it_closes(tmp_path, navigation):
    """Two areas that share the strip from 3 to 5 m:
    with the right one closed the left one goes on to 5 m, for the mesh and for cells.
    """
    two = {
        "areas": [
            {"name": "a", "polygon": [[0, 0], [5, 0], [5, 2], [0, 2]]},
            {"name": "b", "polygon": [[3, 0], [8, 0], [8, 2], [3, 2]]},
        ]
    }
    found = scenario(
        tmp_path,
        two,
        navigation=navigation,
        start="[0.5, 1]",
        goal="{point: [4.6, 1], arrive_within: 0.2}",
        more="events: [{at: 0.1, close: b}]",
    )
    with Simulation(found, threads=1) as run:
        assert run.run().arrived == 1
    beyond = scenario(
        tmp_path,
        two,
        navigation=navigation,
        start="[0.5, 1]",
        goal="{point: [5.4, 1], arrive_within: 0.1}",
        more="events: [{at: 0.1, close: b}]",
    )
    with Simulation(beyond, threads=1) as run:
        assert run.run().arrived == 0 and run.world.agents.position[0, 0] < 5.0


def test_nobody_is_placed_at_random_where_the_ground_is_closed(tmp_path):
    rooms = {**ROOMS, "areas": [{**each, "available": each["name"] != "right"} for each in ROOMS["areas"]]}
    (tmp_path / "map.json").write_text(json.dumps(rooms))
    text = scene(goal="{point: [1, 1]}").replace("positions: [[0.5, 2]]", "count: 40")
    built = build_world(parse_scenario(text, file="t.yaml", folder=tmp_path))
    assert built.agents.position[:, 0].max() < 4.4


@pytest.mark.sample(1)
@pytest.mark.parametrize("cell", [0.4, 0.3])
def test_a_grid_as_text_has_its_own_cells_and_another_size_of_cell_is_told(tmp_path, cell):
    (tmp_path / "map.json").write_text(json.dumps(ROOMS))
    text = grid_to_text(load_grid(tmp_path / "map.json"))
    found = scenario(
        tmp_path,
        text,
        "cells.txt",
        walkable="{s2_file: cells.txt}",
        navigation=f"{{kind: s2-grid, cell_size: {cell}}}",
    )
    grid = grid_of(build_world(found))
    if cell == 0.4:
        assert grid_to_text(grid) == text and not found.notes
        again = parse_scenario(found.canonical(), file="t.yaml")
        assert grid_to_text(grid_of(build_world(again))) == text
    else:
        assert [note.message for note in found.notes] == [
            "is 0.3, but cells.txt says cellSize 0.4: 0.3 counts"
        ]
    with Simulation(found, threads=1) as run:
        assert run.run().arrived == 1


def test_more_areas_continue_the_cells_of_a_file(tmp_path):
    (tmp_path / "map.json").write_text(json.dumps(ROOMS))
    plain = load_grid(tmp_path / "map.json")
    walkable = "[{s2_file: cells.txt}, {box: [8.9, 1, 14, 3]}, {box: [-7, 0, -4, 2]}]"
    grid = grid_of(build_world(scenario(tmp_path, grid_to_text(plain), "cells.txt", walkable=walkable)))
    shift = round((plain.x - grid.x) / 0.4)
    assert plain.x - grid.x == pytest.approx(0.4 * shift) and shift >= 14 and grid.y == plain.y
    assert np.array_equal(grid.walkable()[: plain.depth, shift : shift + 24], plain.walkable()[:, :24])
    assert grid.walkable()[:, shift + 34].any() and grid.walkable()[:, :shift].any()


MAP = "type octile\nheight 4\nwidth 6\nmap\n......\n.@@@@.\n.@@.@.\n......\n"


@pytest.mark.sample(1)
@pytest.mark.parametrize("navigation", PLANNERS)
def test_a_map_of_the_benchmark_is_ground_and_its_cells_are_the_grid(tmp_path, navigation):
    found = scenario(
        tmp_path,
        MAP,
        "m.map",
        walkable="{map_file: m.map}",
        navigation=navigation,
        start="[1.5, 3.5]",
        goal="{point: [4.5, 0.5]}",
    )
    assert found.geometry.walkable.area == MAP.count(".")
    if navigation.endswith("grid"):
        grid = grid_of(build_world(found))
        want = np.array([[letter == "." for letter in row] for row in MAP.split("\n")[4:8]])[::-1]
        assert np.array_equal(grid.walkable(None if navigation == "s2-grid" else 0.2), want) and (
            grid.x,
            grid.y,
        ) == (0.0, 0.0)
    with Simulation(found, threads=1) as run:
        assert run.run().arrived == 1
    half = scenario(
        tmp_path,
        MAP,
        "m.map",
        walkable="{map_file: m.map, cell_size: 0.5}",
        navigation="s2-grid",
        start="[0.75, 1.75]",
        goal="{point: [2.25, 0.25]}",
    )
    assert half.navigation.values["cell_size"] == 0.5 and half.geometry.walkable.bounds == (
        0.0,
        0.0,
        3.0,
        2.0,
    )


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"cellsize": 0.4}, 'there is no key "cellsize" in a grid map'),
        ({"cellSize": -1}, "cellSize: -1 m is outside"),
        ({"agentRadius": "wide"}, "agentRadius: 'wide' is not a number"),
        (
            {"areas": [*ROOMS["areas"], ROOMS["areas"][1]]},
            r'areas\[3\]: there is an area "door" already: map.json, areas\[1\]',
        ),
        ({"areas": [{**ROOMS["areas"][0], "name": "(a"}]}, "is no name that events could use"),
    ],
)
def test_mistakes_in_files_are_named(tmp_path, change, says):
    with pytest.raises(ScenarioError, match=says):
        scenario(tmp_path, {**ROOMS, **change})


def test_mistakes_about_files_are_named(tmp_path):
    with pytest.raises(ScenarioError, match=r"Write \{map_file: m.map\}"):
        scenario(tmp_path, MAP, "m.map", walkable="{s2_file: m.map}")
    with pytest.raises(
        ScenarioError, match=r"this is no map of the MovingAI benchmark: line 1 must be \"type ...\""
    ):
        scenario(tmp_path, "octile\n", "m.map", walkable="{map_file: m.map}")
    with pytest.raises(ScenarioError, match="a map of cells has no obstacles"):
        scenario(
            tmp_path, MAP, "m.map", walkable="{box: [0, 0, 9, 9]}", geometry=", obstacles: {map_file: m.map}"
        )
    with pytest.raises(ScenarioError, match=r"m\.map is a second file of cells"):
        scenario(
            tmp_path,
            MAP,
            "m.map",
            walkable="[{map_file: m.map}, {map_file: m.map, cell_size: 2}]",
            navigation="{kind: grid, cell_size: 1}",
        )
    with pytest.raises(ScenarioError, match='there is an area "door" already'):
        scenario(tmp_path, geometry=", areas: [{name: door, area: {box: [1, 1, 2, 2]}}]")
    with pytest.raises(ScenarioError, match="no cell of it is walkable"):
        scenario(
            tmp_path,
            "cellSize 1\nminX 0\nminZ 0\ngridWidth 2\ngridDepth 1\n00\n",
            "cells.txt",
            walkable="{s2_file: cells.txt}",
        )


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("navigation", "radius"),
    [("s2-grid", 0.2), ("grid", 0.2), ("grid", 0.08), ("{kind: s2-grid, cell_size: 0.9}", 0.2)],
)
@pytest.mark.parametrize("shift", [0.0, 0.1, 0.2, 0.3])
def test_walls_thinner_than_a_cell_are_walls_wherever_the_centres_of_cells_lie(
    tmp_path, navigation, radius, shift
):
    """Rooms 5 cm apart: no cell's centre lies between them, and only the door leads over.
    Shut, it is shut, though no centre lies in it either.
    """
    rooms = [[shift, 0, 4, 4], [4.05, 0, 9, 4], [4, 2.8, 4.05, 4]]
    walkable = "[" + ", ".join(f"{{box: {box}}}" for box in rooms) + "]"
    door = ", areas: [{name: door, area: {box: [4, 2.8, 4.05, 4]}}]"
    for closes, arrives in (("", 1), ("events: [{at: 0.05, close: door}]", 0)):
        found = scenario(
            tmp_path,
            walkable=walkable,
            navigation=navigation,
            start="[1, 0.5]",
            goal="{point: [8, 0.5]}",
            more=closes,
            geometry=door,
        )
        found = parse_scenario(found.canonical(), sets=[f"groups.0.radius={radius}", "avoidance=none"])
        with Simulation(found, threads=1) as run:
            assert run.run().arrived == arrives
            assert arrives or run.world.agents.path_status[0] == PathStatus.NEAREST_REACHABLE


@pytest.mark.full
@pytest.mark.sample(1)
@pytest.mark.parametrize("navigation", ["grid", "s2-grid"])
def test_a_crowd_gets_through_the_door_of_the_bottleneck(navigation):
    with Simulation(
        load_scenario(SCENARIOS / "bottleneck.yaml", sets=[f"navigation={navigation}", "groups.0.count=40"])
    ) as run:
        assert run.run().arrived == 40
