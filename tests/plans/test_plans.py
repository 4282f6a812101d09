"""Plans as people have them: what is ground, which exits there are, what is mended,
and what is told about it.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdsim.cli.verdict import verdict_text
from crowdsim.errors import CrowdsimError
from crowdsim.measures import arrivals
from crowdsim.plans.exits import find_exits
from crowdsim.plans.ground import find_ground
from crowdsim.plans.read import read_plan
from crowdsim.plans.starter import starter_of
from crowdsim.scenario.load import load_scenario
from crowdsim.scenario.plan_kinds import Kind, kind_of
from crowdsim.setup.agents import resolve_agents
from crowdsim.simulation.simulation import Simulation
from tests.crowds import ROOT

# a room of 10 m x 8 m with a gap of 1.2 m in the south
GATE = "LINESTRING (5 0, 0 0, 0 8, 10 8, 10 0, 6.2 0)"


def plan(folder: Path, text: str, name: str = "plan.wkt") -> Path:
    (folder / name).write_text(text)
    return folder / name


def looked_at(path: Path, **options):
    """Return ground, exits, where people start, and the words about them."""
    drawn = read_plan(path, **{key: options.pop(key) for key in ("unit", "kinds") if key in options})
    given_exits = options.pop("exits", ())
    found = find_ground(drawn, **options)
    exits, start = find_exits(drawn, found, given_exits)
    return found.ground, exits, start, drawn.words


def scenario(folder: Path, path: Path, **options):
    """Return the scenario that is written for a plan, loaded."""
    starter = starter_of(path, folder / "mine.yaml", **options)
    for name, text in starter.files.items():
        (folder / name).write_text(text)
    return load_scenario(folder / "mine.yaml"), starter


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("A-WALL-EXTR", Kind.WALLS), ("Wände", Kind.WALLS), ("MUR", Kind.WALLS), ("A-GLAZ", Kind.WALLS),
        ("Rooms", Kind.GROUND), ("sol", Kind.GROUND), ("solar panels", None),
        ("Emergency exit doors", Kind.EXITS), ("Notausgang", Kind.EXITS), ("A-DOOR", Kind.DOORS),
        ("S-COLS", Kind.OBSTACLES), ("A-FURN", Kind.OBSTACLES), ("A-ANNO-DIMS", Kind.NOTHING),
        ("door frame", Kind.NOTHING), ("0", None), ("", None),
    ],
)  # fmt: skip
def test_names_of_layers_say_what_is_on_them(name: str, kind: Kind | None) -> None:
    assert kind_of(name) == kind


def test_walls_as_lines_enclose_a_room_and_the_gap_in_them_is_its_exit(tmp_path: Path) -> None:
    ground, exits, start, words = looked_at(plan(tmp_path, GATE))
    # walls are 0.1 m thick, half of it inside; the opening is as deep
    assert ground.area == pytest.approx(9.9 * 7.9 + 1.2 * 0.1, abs=1e-6)
    assert [area.bounds for area in exits] == [pytest.approx((5, -0.2, 6.2, 0.1), abs=2e-3)]
    assert (
        start.within(ground)
        and not start.intersects(exits[0])
        and start.distance(ground.boundary) == pytest.approx(0.23, abs=1e-3)
    )
    assert "1 exit: the opening in the outer walls, 1.20 m wide" in words


@settings(max_examples=25, deadline=None)
@given(gap=st.floats(0.0, 0.02), turn=st.sampled_from([0.0, 90.0, 180.0, 270.0]), at=st.floats(0.5, 7.0))
def test_walls_that_miss_each_other_by_up_to_2_cm_enclose_as_if_they_met(
    gap: float, turn: float, at: float, tmp_path_factory: pytest.TempPathFactory
) -> None:
    text = (
        f"LINESTRING (0 {gap}, 0 8, 10 8)\nLINESTRING ({10 + gap} 8, 10 0, {at + 1.5} 0)\n"
        f"LINESTRING ({at} 0, 0 0)"
    )
    turned = "\n".join(
        shapely.to_wkt(shapely.affinity.rotate(shapely.from_wkt(line), turn, origin=(5, 4)), 12)
        for line in text.splitlines()
    )
    ground, exits, _, _ = looked_at(plan(tmp_path_factory.mktemp("gap"), turned))
    assert ground.geom_type == "Polygon" and ground.area == pytest.approx(9.9 * 7.9 + 0.15, abs=0.15)
    assert [max(area.bounds[2] - area.bounds[0], area.bounds[3] - area.bounds[1]) for area in exits] == [
        pytest.approx(1.5, abs=0.03)
    ]


def test_a_room_whose_wall_is_open_too_wide_is_refused_and_enclosed_by_a_wider_opening(
    tmp_path: Path,
) -> None:
    path = plan(tmp_path, "LINESTRING (4 0, 0 0, 0 8, 10 8, 10 0, 8.2 0)")
    with pytest.raises(CrowdsimError, match=r"no walls with gaps of at most 2\.5 m"):
        looked_at(path)
    ground, exits, _, _ = looked_at(path, opening=4.5)
    assert ground.area == pytest.approx(9.9 * 7.9 + 0.42, abs=1e-2) and len(exits) == 1


def test_outlines_a_millimetre_apart_become_one_and_those_a_wall_apart_stay_two(tmp_path: Path) -> None:
    boxes = "POLYGON ((0 0, 5 0, 5 4, 0 4, 0 0))\nPOLYGON (({0} 0, 9 0, 9 4, {0} 4, {0} 0))"
    ground, _, _, words = looked_at(plan(tmp_path, boxes.replace("{0}", "5.001")))
    assert (
        ground.geom_type == "Polygon"
        and ground.area == pytest.approx(36.0, abs=1e-6)
        and "1 gap of up to 20 mm between outlines was closed" in words
    )
    ground, _, start, words = looked_at(plan(tmp_path, boxes.replace("{0}", "5.1")))
    # the exit is a guess, in the larger part: no agent starts where it could not get out
    assert ground.geom_type == "MultiPolygon" and start.bounds[2] < 5.0
    assert any(word.startswith("nobody starts in 1 part of the ground (12 m2)") for word in words)


def test_an_outline_that_crosses_itself_is_what_it_encloses(tmp_path: Path) -> None:
    ground, _, _, words = looked_at(plan(tmp_path, "POLYGON ((0 0, 10 10, 10 0, 0 10, 0 0))"))
    assert (
        ground.area == pytest.approx(50.0) and "1 outline crossed itself: what it encloses was taken" in words
    )


def test_where_nothing_leads_out_an_exit_is_put_into_the_longest_wall_and_told(tmp_path: Path) -> None:
    path = plan(tmp_path, "POLYGON ((0 0, 10 0, 10 8, 0 8, 0 0))")
    _, exits, _, words = looked_at(path)
    assert exits[0].bounds in [pytest.approx((4.4, low - 0.3, 5.6, low + 0.3)) for low in (0.0, 8.0)]
    assert any("--exit X,Y puts it elsewhere" in word for word in words)
    _, exits, _, words = looked_at(path, exits=[(10.0, 2.0), (0.0, 2.0)])
    assert [area.bounds[:2] for area in exits] == [
        pytest.approx((-0.6, 1.4)),
        pytest.approx((9.4, 1.4)),
    ] and "2 exits: as given with --exit" in words
    with pytest.raises(CrowdsimError, match=r"--exit 20,2 is 10\.00 m away from the ground"):
        looked_at(path, exits=[(20.0, 2.0)])


def test_geojson_says_by_its_properties_what_is_what_and_its_degrees_become_metres(tmp_path: Path) -> None:
    def feature(kind, geometry):
        return {
            "type": "Feature",
            "properties": {"layer": kind},
            "geometry": shapely.geometry.mapping(geometry),
        }

    metre = 1 / (6_371_008.8 * 3.141592653589793 / 180)  # in degrees, at the equator
    shapes = {
        "rooms": shapely.box(0, 0, 20, 10),
        "columns": shapely.box(4, 4, 5, 5),
        "exits": shapely.box(19.5, 4, 20, 6),
        "seats": shapely.box(0, 0, 10, 10),
    }
    for scale, words_of in ((1.0, False), (metre, True)):
        parts = [
            feature(kind, shapely.affinity.scale(shape, scale, scale, origin=(0, 0)))
            for kind, shape in shapes.items()
        ]
        path = plan(tmp_path, json.dumps({"type": "FeatureCollection", "features": parts}), "plan.geojson")
        ground, exits, start, words = looked_at(path)
        assert (ground.area, len(ground.interiors), exits[0].area) == (
            pytest.approx(199.0, rel=1e-5),
            1,
            pytest.approx(1.0, rel=1e-5),
        )
        assert start.bounds[2] - start.bounds[0] == pytest.approx(9.77, abs=1e-3)
        assert any("degrees" in word for word in words) == words_of


def drawn_as(folder: Path, **layers) -> Path:
    """Return a plan in GeoJSON, in metres, from shapes by the names of their layers."""
    parts = [
        {"type": "Feature", "properties": {"layer": layer}, "geometry": shapely.geometry.mapping(shape)}
        for layer, shapes in layers.items()
        for shape in (shapes if isinstance(shapes, list) else [shapes])
    ]
    return plan(folder, json.dumps({"type": "FeatureCollection", "features": parts}), "plan.geojson")


def test_exits_are_cut_out_of_where_people_start_and_may_lie_a_few_centimetres_beside_the_ground(
    tmp_path: Path,
) -> None:
    inside, beside, far = (
        shapely.box(8, 3, 9, 5),
        shapely.box(10.04, 1, 10.5, 2),
        shapely.box(10.06, 6, 10.5, 7),
    )
    ground, exits, start, words = looked_at(
        drawn_as(tmp_path, rooms=shapely.box(0, 0, 10, 8), exits=[inside, beside, far])
    )
    assert len(exits) == 2 and "2 exits: as drawn; 1 more lie beside the ground" in words
    # the other is grown until it is on the ground
    assert exits[0].equals(inside) and exits[1].intersection(ground).area > 0.01
    assert start.distance(inside) == pytest.approx(0.05, abs=2e-3)


def test_a_closed_outline_on_a_layer_of_walls_is_a_wall_where_it_is_thin_and_its_border_where_it_is_wide(
    tmp_path: Path,
) -> None:
    around, thin, wide = shapely.box(0, 0, 10, 8), shapely.box(3, 2, 3.3, 6), shapely.box(5, 2, 7, 6)
    ground, *_ = looked_at(drawn_as(tmp_path, walls=[around, thin, wide]))
    assert ground.area == pytest.approx(9.9 * 7.9 - 0.3 * 4.0 - 2.1 * 4.1 + 1.9 * 3.9, abs=1e-3)
    assert (
        ground.contains(shapely.Point(6.0, 4.0))
        and not ground.contains(shapely.Point(3.15, 4.0))
        and not ground.contains(shapely.Point(5.0, 4.0))
    )


@pytest.mark.parametrize(("radius", "sides"), [(5.0, 16), (8.0, 3), (12.6, 29), (2.5, 8)])
def test_a_closed_round_wall_has_no_opening_and_one_with_a_gap_has_one(
    radius: float, sides: int, tmp_path: Path
) -> None:
    ring = shapely.Point(0.0, 0.0).buffer(radius, quad_segs=sides).exterior
    ground, _, _, words = looked_at(plan(tmp_path, shapely.LineString(ring.coords).wkt))
    assert ground.geom_type == "Polygon" and not any(
        "hollow" in word or word.endswith("wide") for word in words
    )
    gap = shapely.Point(0.0, radius).buffer(0.5)
    _, exits, _, words = looked_at(plan(tmp_path, shapely.line_merge(ring.difference(gap)).wkt))
    assert (
        len(exits) == 1
        and exits[0].distance(shapely.Point(0.0, radius)) < 0.2
        and any(word.startswith("1 exit: the opening") for word in words)
    )


def test_a_gap_in_the_outer_face_of_a_hollow_wall_is_no_exit(tmp_path: Path) -> None:
    outer = "LINESTRING (5 0, 0 0, 0 8, 10 8, 10 0, 6.2 0)"
    ground, exits, _, words = looked_at(
        plan(tmp_path, f"{outer}\nLINESTRING (0.3 0.3, 0.3 7.7, 9.7 7.7, 9.7 0.3, 0.3 0.3)")
    )
    assert ground.area == pytest.approx(9.3 * 7.3, abs=1e-3) and any(
        word.startswith("no exit is drawn and the walls have no opening") for word in words
    )
    assert exits[0].intersects(ground.exterior) and "1 hollow in which nobody can stand was left out" in words


def test_an_outline_of_ground_left_open_by_a_door_is_closed_and_the_gap_leads_out(tmp_path: Path) -> None:
    open_room = shapely.LineString([(4, 0), (0, 0), (0, 8), (10, 8), (10, 0), (5.25, 0)])
    ground, exits, _, words = looked_at(drawn_as(tmp_path, rooms=open_room))
    assert ground.area == pytest.approx(80.0) and [area.bounds for area in exits] == [
        pytest.approx((4, -0.15, 5.25, 0.15))
    ]
    assert "1 outline had a gap of a door's width: it was taken as a way out" in words
    with pytest.raises(
        CrowdsimError, match=r"An outline of the ground is open: .* 1\.25 m apart\.\n.*--opening 1\.3"
    ):
        looked_at(drawn_as(tmp_path, rooms=open_room), opening=1.1)


def test_lines_among_obstacles_are_thin_things_and_what_they_enclose_together_is_solid(
    tmp_path: Path,
) -> None:
    room, rail = shapely.box(0, 0, 10, 8), shapely.LineString([(1, 1), (4, 1)])
    table = [shapely.LineString([(6, 2), (8, 2), (8, 4)]), shapely.LineString([(8, 4), (6, 4), (6, 2)])]
    ground, *_ = looked_at(drawn_as(tmp_path, rooms=room, furniture=[rail, *table]))
    assert ground.area == pytest.approx(80.0 - 3 * 0.04 - 2.04 * 2.04, abs=2e-3)
    assert not ground.contains(shapely.Point(7.0, 3.0))


def test_of_doors_only_those_in_the_outer_walls_are_exits(tmp_path: Path) -> None:
    rooms, inner, outer = (
        [shapely.box(0, 0, 5, 4), shapely.box(5.2, 0, 10, 4)],
        shapely.box(4.9, 1, 5.3, 2),
        shapely.box(9.9, 2, 10.2, 3),
    )
    ground, exits, _, words = looked_at(drawn_as(tmp_path, rooms=rooms, doors=[inner, outer]))
    assert ground.geom_type == "Polygon" and "1 exit: the door in the outer walls" in words
    assert len(exits) == 1 and exits[0].contains(outer) and not exits[0].intersects(inner)


def test_a_plan_far_from_the_origin_is_moved_there_and_degrees_shrink_towards_the_poles(
    tmp_path: Path,
) -> None:
    far = shapely.transform(shapely.from_wkt(GATE), lambda points: points + (500_000.25, 5_400_000.5))
    ground, exits, _, words = looked_at(plan(tmp_path, far.wkt))
    assert (
        ground.bounds == pytest.approx((0.3, 0.45, 10.2, 8.45), abs=2e-3) and exits[0].distance(ground) == 0.0
    )
    assert "it lies far from the origin and was moved by (-500,000, -5,400,000) m" in words
    metre = 1 / (6_371_008.8 * 3.141592653589793 / 180)
    square = shapely.box(10.0, 60.0, 10.0 + 20 * metre, 60.0 + 20 * metre)
    ground, *_ = looked_at(drawn_as(tmp_path, rooms=square))
    # a degree of longitude is half as long at 60 N
    assert ground.area == pytest.approx(400.0 * 0.5, rel=1e-4)


def test_a_grid_map_is_a_plan_and_its_obstacles_stand_on_it(tmp_path: Path) -> None:
    def ring(*corners):
        return [list(corner) for corner in corners]

    text = json.dumps(
        {
            "areas": [{"polygon": ring((0, 0), (10, 0), (10, 10), (0, 10))}],
            "obstacles": [{"polygon": ring((4, 4), (6, 4), (6, 6), (4, 6))}],
        }
    )
    assert looked_at(plan(tmp_path, text, "map.json"))[0].area == pytest.approx(96.0)


def test_the_cells_of_a_grid_map_are_a_plan(tmp_path: Path) -> None:
    cells = (
        "cellSize 0.5\nminX 0\nminZ 0\ngridWidth 20\ngridDepth 3\n"
        + "1" * 20
        + "\n"
        + "1" * 20
        + "\n"
        + "1" * 10
        + "0" * 10
        + "\n"
    )
    assert looked_at(plan(tmp_path, cells, "cells.txt"))[0].area == pytest.approx(12.5)
    benchmark = "type octile\nheight 3\nwidth 6\nmap\n......\n..@@..\n......\n"
    assert looked_at(plan(tmp_path, benchmark, "m.map"))[0].area == pytest.approx(16.0)


def test_the_scenario_of_a_plan_loads_and_says_what_was_taken_for_granted(tmp_path: Path) -> None:
    loaded, starter = scenario(tmp_path, plan(tmp_path, GATE), people=12)
    assert (loaded.name, loaded.agent_count, [goal.name for goal in loaded.goals], loaded.notes) == (
        "mine",
        12,
        ["exit"],
        (),
    )
    # on a grid of 2**-20 m; 3 m are outside
    assert loaded.geometry.walkable.area == pytest.approx(9.9 * 7.9 + 1.2 * 3.0, abs=1e-4)
    for word in starter.words:
        assert f"#   {word}\n" in starter.files["mine.yaml"]
    with pytest.raises(CrowdsimError, match=r"1,000 people do not fit on 70"):
        scenario(tmp_path, plan(tmp_path, GATE), people=1000)


def test_the_ground_goes_on_behind_an_exit_where_nothing_else_is(tmp_path: Path) -> None:
    loaded, starter = scenario(tmp_path, plan(tmp_path, GATE), people=12)
    # the last half metre of three
    assert loaded.goals[0].area.bounds == pytest.approx((5.0, -2.95, 6.2, -2.45), abs=2e-3)
    assert any(word.startswith("behind 1 exit the ground goes on for 3 m") for word in starter.words)
    room = "POLYGON ((0 0, 10 0, 10 8, 0 8, 0 0))"
    beside = shapely.box(4, -5, 6, -1).wkt  # another building, 1 m from the wall
    loaded, starter = scenario(tmp_path, plan(tmp_path, f"{room}\n{beside}"), people=12, exits=[(5.0, 0.0)])
    assert loaded.geometry.walkable.area == pytest.approx(88.0, abs=1e-3) and not any(
        "goes on" in word for word in starter.words
    )
    assert loaded.goals[0].area.bounds == pytest.approx((4.4, -0.6, 5.6, 0.6))


@pytest.mark.parametrize(
    "seeds", [(2,), pytest.param((1, 2, 3), marks=pytest.mark.full)], ids=["one seed", "three seeds"]
)
def test_people_get_out_of_a_plan_as_quickly_as_measured_people_do_and_a_run_that_is_too_fast_says_so(
    tmp_path: Path, seeds: tuple[int, ...]
) -> None:
    _, starter = scenario(tmp_path, plan(tmp_path, GATE), people=100)
    assert any("speed_density: none" in word and "freeze" in word for word in starter.words)
    flows = []
    for law, seed in (("weidmann", 1), *(("none", seed) for seed in seeds)):
        loaded = load_scenario(
            tmp_path / "mine.yaml",
            sets=[f"speed_density={law}", f"seed={seed}", "groups.0.premovement=0", "stop.after=90"],
        )
        with Simulation(loaded, out=tmp_path / f"{law}-{seed}.h5") as simulation:
            verdict = simulation.run().as_dict()
        # by hand: the shortest time in which 50 of 100 leave, through 1.2 m
        times = np.sort(arrivals(tmp_path / f"{law}-{seed}.h5")["time_s"].to_numpy())
        assert len(times) == 100
        by_hand = 49 / np.min(times[49:] - times[:51]) / 1.2
        assert (
            verdict["flows"]
            == [{"exit": "exit", "people": 100, "width_m": 1.2, "per_m_s": pytest.approx(by_hand, rel=1e-3)}]
            and verdict["speed_law"] == law
        )
        flows.append((by_hand, verdict_text(verdict, 0.05, None)))
    (people, calm), *plain = flows
    assert 1.2 <= people <= 2.3 and "warning" not in calm and "not calibrated" not in calm
    # with seed 1 an arch stands before the door for five seconds: 2.73
    assert np.median([flow for flow, _ in plain]) > 2.8
    assert all(
        "not calibrated for flow" in warned
        and f"{flow / 2.3:.2g} times as many as people at most do" in warned
        for flow, warned in plain
    )


def test_an_obj_file_is_a_plan_whose_largest_piece_of_ground_people_leave(tmp_path: Path) -> None:
    obj = "".join(
        f"v {x} {y} {z}\n"
        for x, y, z in [
            (0, 0, 0),
            (12, 0, 0),
            (12, 0, -8),
            (0, 0, -8),
            (0, 5, 0),
            (4, 5, 0),
            (4, 5, -4),
            (0, 5, -4),
        ]
    )
    (tmp_path / "here").mkdir()
    loaded, starter = scenario(
        tmp_path / "here",
        plan(tmp_path, obj + "f 1 2 3 4\nf 5 6 7 8\n", "house.obj"),
        exits=[(12.0, 4.0)],
        people=5,
    )
    assert list(starter.files) == ["mine.yaml", "mine.obj", "mine-start.wkt"] and loaded.agent_count == 5
    assert sorted(ground.area for ground in loaded.geometry.grounds) == pytest.approx([16.0, 96.0])
    assert (
        "2 pieces of ground: people start on the largest and leave there, at a height of 0.00 m"
        in starter.words
    )


def test_nobody_starts_on_a_gallery_that_no_way_leads_down_from(tmp_path: Path) -> None:
    loaded, _ = scenario(tmp_path, ROOT / "scenarios" / "maps" / "bridge.obj", people=300)
    gallery = shapely.box(34, 16, 40, 20)  # 1.8 m high, put with the floor below it; docs/guides/floors.md
    assert not any(gallery.contains(shapely.Point(place)) for place in resolve_agents(loaded).position)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.dwg", "", r"is no plan that can be read\. Save it as DXF"),
        ("a.png", "", "A picture has no lengths"),
        ("a.yaml", "", r"That is a scenario: crowdsim run .*a\.yaml runs it"),
        ("a.wkt", "POLYGON ((0 0, 1", 'this is no well-known text: "POLYGON'),
        ("a.wkt", "POINT (1 2)", "nothing is drawn in it"),
        (
            "a.wkt",
            "POLYGON ((0 0, 0.3 0, 0.3 0.3, 0 0))",
            "Nothing in the plan encloses ground that a person can stand on",
        ),
        ("a.geojson", "{", "this is not JSON"),
        ("a.geojson", "[1]", "this is neither GeoJSON nor a grid map"),
        (
            "a.geojson",
            '{"type": "Feature", "geometry": {"type": "Polygon", "coordinates": 3}}',
            r"features\[0\] has no geometry that can be read",
        ),
        ("a.dxf", "0\nSECTION\n", "this is no DXF drawing"),
        ("a.obj", "v 0 0 0\n", "a.obj: "),
    ],
)
def test_what_is_no_plan_is_one_error_with_a_way_out(
    name: str, text: str, message: str, tmp_path: Path
) -> None:
    if name == "a.dxf":
        pytest.importorskip("ezdxf", reason="ezdxf is missing: it reads DXF files")
    with pytest.raises(CrowdsimError, match=message):
        scenario(tmp_path, plan(tmp_path, text, name))


# DXF drawings
# ------------------------------------------------------------------------------------------------------------


def drawing(unit: int):
    ezdxf = pytest.importorskip("ezdxf", reason="ezdxf is missing: it reads DXF files")
    made = ezdxf.new("R2010", units=unit)
    return made, made.modelspace()


def test_the_office_of_the_page_has_its_rooms_columns_and_two_exits() -> None:
    pytest.importorskip("ezdxf", reason="ezdxf is missing: it reads DXF files")
    ground, exits, _, words = looked_at(ROOT / "docs" / "examples" / "office.dxf")
    # six tables, two columns
    assert (
        ground.geom_type == "Polygon"
        and len(ground.interiors) >= 8
        and not ground.contains(shapely.Point(9.0, 3.5))
    )
    assert [
        round(max(area.bounds[2] - area.bounds[0], area.bounds[3] - area.bounds[1]), 2) for area in exits
    ] == [1.8, 1.2]
    assert 'lengths are in "mm", as its header says' in words


def test_outlines_left_open_are_closed_and_doors_join_rooms_through_walls(tmp_path: Path) -> None:
    made, space = drawing(6)
    space.add_lwpolyline([(0, 0), (5, 0), (5, 4), (0, 4)], close=True, dxfattribs={"layer": "ROOMS"})
    space.add_lwpolyline([(5.2, 0), (10, 0), (10, 4), (5.2, 4), (5.2, 0.005)], dxfattribs={"layer": "ROOMS"})
    space.add_lwpolyline([(4.9, 1), (5.3, 1), (5.3, 2), (4.9, 2)], close=True, dxfattribs={"layer": "DOORS"})
    space.add_lwpolyline(
        [(9.5, 1), (10.2, 1), (10.2, 2.2), (9.5, 2.2)], close=True, dxfattribs={"layer": "EXITS"}
    )
    space.add_lwpolyline([(50, 50), (60, 50)], dxfattribs={"layer": "A-ANNO-DIMS"})
    made.saveas(tmp_path / "rooms.dxf")
    ground, exits, _, words = looked_at(tmp_path / "rooms.dxf")
    assert ground.geom_type == "Polygon" and ground.area == pytest.approx(20 + 4.8 * 4 + 0.2, abs=0.02)
    assert exits[0].bounds == pytest.approx((9.5, 1, 10.2, 2.2)) and any(
        word.startswith("1 end of lines, up to 20 mm apart") for word in words
    )


@pytest.mark.parametrize(
    ("header", "scale", "unit", "word"),
    [
        (0, 1000.0, None, "taken to be in millimetres"),
        (6, 1000.0, None, "taken to be in millimetres"),
        (6, 1.0, None, 'lengths are in "m"'),
        (4, 1.0, "m", ""),
    ],
)
def test_units_are_those_of_the_header_unless_the_building_would_be_kilometres_wide(
    header: int, scale: float, unit: str | None, word: str, tmp_path: Path
) -> None:
    made, space = drawing(header)
    # walls as areas, as CAD programs draw them
    for x0, y0, x1, y1 in (
        (0, 0, 12, 0.2),
        (0, 0, 0.2, 8),
        (0, 7.8, 12, 8),
        (11.8, 0, 12, 3),
        (11.8, 4.2, 12, 8),
    ):
        corners = [(scale * x, scale * y) for x, y in ((x0, y0), (x1, y0), (x1, y1), (x0, y1))]
        space.add_lwpolyline(corners, close=True, dxfattribs={"layer": "MUR"})
    made.saveas(tmp_path / "house.dxf")
    ground, exits, _, words = looked_at(tmp_path / "house.dxf", unit=unit)
    assert ground.area == pytest.approx(11.6 * 7.6 + 0.24, abs=1e-3) and exits[0].bounds == pytest.approx(
        (11.85, 3, 12.15, 4.2), abs=2e-3
    )
    assert any(word in each for each in words)


def test_layers_that_no_name_tells_are_what_the_user_says(tmp_path: Path) -> None:
    made, space = drawing(6)
    space.add_lwpolyline([(0, 0), (10, 0), (10, 8), (0, 8)], close=True, dxfattribs={"layer": "L1"})
    space.add_lwpolyline([(4, 4), (5, 4), (5, 5), (4, 5)], close=True, dxfattribs={"layer": "L2"})
    made.saveas(tmp_path / "plan.dxf")
    ground, _, _, words = looked_at(tmp_path / "plan.dxf")
    assert ground.area == pytest.approx(79.0) and any(
        'closed outlines as ground ("L1", "L2")' in word for word in words
    )
    ground, *_ = looked_at(tmp_path / "plan.dxf", kinds={"l1": Kind.GROUND, "L2": Kind.NOTHING})
    assert ground.area == pytest.approx(80.0)
    with pytest.raises(CrowdsimError, match=r'nothing on a layer "l3"\. There are L1, L2'):
        looked_at(tmp_path / "plan.dxf", kinds={"L3": Kind.WALLS})
