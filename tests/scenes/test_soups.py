"""Agents on ground that was filled among triangles, looked at from their recorded positions."""

import numpy as np
import pytest
import shapely
from scipy.sparse import coo_array
from scipy.sparse.csgraph import dijkstra

import crowdsim
from crowdsim.navigation.soup.fill import FillRules, fill
from crowdsim.scenario.canonical import canonical_data
from crowdsim.scenario.load import load_scenario, parse_scenario
from crowdsim.setup.build import build_world
from crowdsim.setup.paths import Legs, PathFinder
from crowdsim.simulation.simulation import Simulation
from tests.crowds import SCENARIOS, assert_same_on_threads_and_from_saved_states
from tests.navigation.soup.scenes import block, floor, stair, wall
from tests.navigation.soup.worlds import SHIPPED, cliff, overpass, spiral, tower

PLANNERS = ["mesh", "optimal", "visibility", "hierarchical", "grid", "s2-grid"]
MODELS = ["orca", "clearpath", "hrvo", "sampled-hrvo", "none"]


def deepest_in_triangles(seen, corners, radius, step, height):
    """Return how deep (m) discs reach into what stands from a step above their feet to their heads."""
    deepest, low, high = 0.0, corners.min(axis=1), corners.max(axis=1)
    for x, y, z in seen[["x", "y", "z"]].to_numpy().tolist():
        spot = shapely.Point(x, y)
        near = np.flatnonzero(
            (low < [x + radius, y + radius, z + height]).all(axis=1)
            & (high > [x - radius, y - radius, z + step]).all(axis=1)
        )
        for triangle in corners[near].tolist():
            # what of it is between these heights, in plan
            points = []
            for here, there in zip(triangle, triangle[1:] + triangle[:1], strict=True):
                points += [here[:2]] if z + step < here[2] < z + height else []
                for level in sorted((z + step, z + height), reverse=here[2] > there[2]):
                    if (here[2] - level) * (there[2] - level) < 0.0:
                        share = (level - here[2]) / (there[2] - here[2])
                        points.append([a + share * (b - a) for a, b in zip(here[:2], there[:2], strict=True)])
            if points:
                deepest = max(deepest, radius - shapely.MultiPoint(points).convex_hull.distance(spot))
    return deepest


def run_of(document, tmp_path, **given):
    with Simulation(document, out=tmp_path / "run.h5", **given) as run:
        verdict = run.run()
    with crowdsim.open_run(tmp_path / "run.h5") as kept:
        return verdict, kept.trajectories()


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.full) for seed in range(2, 11))])
def test_all_go_up_the_spiral_stair_round_the_pillar_and_through_nothing(tmp_path, seed):
    verdict, seen = run_of(load_scenario(SCENARIOS / "spiral-stair.yaml", sets=[f"seed={seed}"]), tmp_path)
    assert verdict.arrived == 12
    assert deepest_in_triangles(seen[seen["frame"] % 6 == 0], spiral(), 0.2, 0.45, 2.0) < 0.02
    for _, own in seen.groupby("id"):
        assert own["z"].iloc[0] == 0.0 and own["z"].iloc[-1] == pytest.approx(7.68, abs=0.01)
        assert own["z"].diff().abs().max() < 0.45  # from frame to frame, nobody changes turns
        on_stair = own[(own["z"] > 0.3) & (own["z"] < 7.5)]
        angle = np.unwrap(np.arctan2(on_stair["y"], on_stair["x"]))
        assert angle[-1] - angle[0] > 3.2 * np.pi  # of two turns, less where they come onto it and leave it


def test_the_shipped_triangles_are_those_that_are_made():
    for name, text_of in SHIPPED.items():
        assert (SCENARIOS / "maps" / name).read_text() == text_of()


def two_storeys(**more):
    corners = np.concatenate(
        [
            floor(0, 0, 6, 4),
            stair(6, 1, 3, 0.0, 10),
            floor(9, 0, 14, 4, 1.8),
            wall(4.1, 0, 4.1, 2.6),
            block(2, 1, -0.2, 2.4, 3, 2),
        ]
    )
    return {
        "version": 1,
        "geometry": {
            "soup": {"triangles": corners.tolist(), "seeds": [[0.5, 0.5, 0]], "body": {"side": 0.1}}
        },
        "goals": {"top": {"region": {"box": [11, 0.5, 13.5, 3.5]}, "height": 1.8}},
        "groups": [
            {
                "name": "up",
                "count": 6,
                "region": {"box": [0.2, 0.2, 1.7, 3.8]},
                "height": 0,
                "radius": 0.2,
                "goals": "top",
            }
        ],
        "stop": {"after": 60, "when": "all_arrived"},
    } | more


@pytest.mark.sample(1)
@pytest.mark.parametrize("navigation", PLANNERS)
@pytest.mark.parametrize("model", MODELS)
def test_under_every_planner_and_model_all_come_up_the_stair(tmp_path, navigation, model):
    said = {"kind": navigation} | ({"cell_size": 0.1, "object_padding": 0.0} if "grid" in navigation else {})
    verdict, seen = run_of(two_storeys(navigation=said, avoidance=model), tmp_path)
    assert verdict.arrived == 6, verdict
    corners = np.array(two_storeys()["geometry"]["soup"]["triangles"])
    assert deepest_in_triangles(seen[seen["frame"] % 4 == 0], corners, 0.2, 0.45, 2.0) < 0.02
    last = seen.sort_values("frame").drop_duplicates("id", keep="last")
    assert np.allclose(last["z"], 1.8)


@pytest.mark.parametrize(("radius", "fits"), [(0.2, True), (0.3, False)])
def test_one_that_does_not_fit_through_a_gap_gets_no_path_through_it(tmp_path, radius, fits):
    corners = np.concatenate([floor(0, 0, 8, 4), wall(4.05, 0, 4.05, 1.8), wall(4.05, 2.3, 4.05, 4)])
    agent = {"position": [1, 2], "radius": radius, "goals": [{"point": [7, 2]}]}
    document = {
        "version": 1,
        "geometry": {"soup": {"triangles": corners.tolist(), "seeds": [[1, 1, 0]], "body": {"side": 0.1}}},
        "groups": [{"name": "a", "agents": [agent]}],
        "stop": {"after": 20, "when": "all_arrived"},
    }
    verdict, seen = run_of(document, tmp_path)
    assert (verdict.arrived == 1) is fits and bool(seen["x"].max() > 4.05) is fits


def test_a_run_is_the_same_on_threads_and_from_every_saved_state():
    assert_same_on_threads_and_from_saved_states(two_storeys(), 200, (1, 60, 120))


def test_a_recording_has_its_ground_and_is_run_again_without_the_triangles(tmp_path):
    verdict, seen = run_of(two_storeys(), tmp_path)
    with crowdsim.open_run(tmp_path / "run.h5") as kept:
        again = parse_scenario(kept.header.scenario)
    assert again.geometry.patches and not again.notes
    (tmp_path / "again").mkdir()
    repeated, also_seen = run_of(again, tmp_path / "again")
    assert repeated.digest == verdict.digest and len(seen) == len(also_seen)


@pytest.mark.sample(1)
@pytest.mark.parametrize("navigation", PLANNERS)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_cars_keep_to_the_street_and_people_to_the_pavement(tmp_path, navigation, seed):
    parts = [
        floor(0, 0, 30, 2),
        floor(0, 2, 30, 8),
        floor(0, 8, 30, 10),
        floor(12, 2, 15, 8),
    ]  # with a crossing
    materials = ["pavement"] * 2 + ["asphalt"] * 2 + ["pavement"] * 2 + ["stripes"] * 2
    document = {
        "version": 1,
        "seed": seed,
        "geometry": {
            "soup": {
                "triangles": np.concatenate(parts).tolist(),
                "materials": materials,
                "seeds": [[1, 1, 0]],
                "surfaces": {"pavement": {}, "asphalt": {}, "stripes": {}},
            }
        },
        "goals": {
            "across": {"region": {"box": [22, 8.5, 29, 9.7]}},
            "ahead": {"region": {"box": [26, 3, 29, 7]}},
        },
        "groups": [
            {
                "name": "people",
                "count": 8,
                "region": {"box": [0.5, 0.5, 8, 1.5]},
                "goals": "across",
                "navigation": {"kind": navigation, "allow": ["pavement", "stripes"]},
            },
            {
                "name": "cars",
                "count": 2,
                "region": {"box": [1, 3, 6, 7]},
                "goals": "ahead",
                "radius": 0.9,
                "navigation": {"kind": navigation, "allow": ["asphalt", "stripes"]},
            },
        ],
        "stop": {"after": 90, "when": "all_arrived"},
    }
    verdict, seen = run_of(document, tmp_path)
    assert verdict.arrived == 10
    people = seen["id"] > 2  # groups are numbered by their names
    on_street = (seen["y"] > 2.3) & (seen["y"] < 7.7)  # one that is pushed may step over the kerb
    assert seen[people & on_street]["x"].between(11.6, 15.4).all() and (people & on_street).any()
    assert seen[~people]["y"].between(1.99, 8.01).all()
    with crowdsim.open_run(tmp_path / "run.h5") as kept:
        again = parse_scenario(kept.header.scenario)
    kinds = {each.kind: each.area.area for each in again.geometry.terrain[0]}
    assert kinds == {"asphalt": 180 - 18, "pavement": 120, "stripes": 18}


def rides_of(path):
    """Return for each agent, by its number, which connections it took, in turn, from the events."""
    with crowdsim.open_run(path) as kept:
        events = kept.events()
        names = [each.name for each in parse_scenario(kept.header.scenario).connections]
    rides = events[events["kind"] == "BOARDED"].sort_values("tick")
    return {
        number: [names[value // 1024] for value in own["value"]] for number, own in rides.groupby("entity")
    }


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.full) for seed in range(2, 11))])
def test_from_the_basement_to_the_roof_by_stair_door_lift_and_ladder(tmp_path, seed):
    scenario = load_scenario(SCENARIOS / "basement-to-roof.yaml", sets=[f"seed={seed}"])
    verdict, seen = run_of(scenario, tmp_path)
    assert verdict.arrived == 10
    first, last = (seen.sort_values("frame").drop_duplicates("id", keep=end) for end in ("first", "last"))
    assert sorted(first["z"]) == [-3.0] * 6 + [0.0] * 4 and np.allclose(last["z"], 10.5)
    visitors = set(first[first["z"] == 0.0]["id"])
    rides = rides_of(tmp_path / "run.h5")
    assert len(rides) == 10 and len(visitors) == 4
    for number, own in rides.items():
        assert own == (["lift", "ladder"] if number in visitors else ["door", "lift", "ladder"])
    # nobody is in the wall but where its door is, and nobody without the key
    in_wall = seen[seen["x"].between(8.0, 8.2) & (seen["z"].abs() < 0.5)]
    assert in_wall["y"].between(2.9, 4.3).all() and not in_wall["id"].isin(visitors).any()
    # nobody reaches into a triangle but in the door, and on the ladder, where there is none
    walking = seen[~seen["x"].between(7.7, 8.5) & ~seen["x"].between(1.6, 2.3) & (seen["frame"] % 25 == 0)]
    assert deepest_in_triangles(walking, tower(), 0.2, 0.45, 1.9) < 0.02


def test_one_without_the_key_ends_with_the_reason_where_there_is_no_other_path(tmp_path):
    text = (SCENARIOS / "basement-to-roof.yaml").read_text().replace("keys: [red]", "keys: []")
    first_floor = "- {area: {box: [12.2, 3, 13.8, 5]}, height: 3.5}\n        "
    assert first_floor in text
    text = text.replace(first_floor, "").replace("times: [3.5, 3.5]", "times: [7]")
    with Simulation(parse_scenario(text, folder=SCENARIOS), out=tmp_path / "run.h5") as run:
        for _ in range(600):
            run.step()
        verdict = run.finish()
    assert len(verdict.left) == 10 and {each.reason for each in verdict.left} == {"needs key red"}


def over_cells(corners, rules, seed, starts, box, z):
    """Return how far it is (m) from places to a box at a height, over cells and their diagonals."""
    table = fill(corners, np.ones(len(corners), dtype=np.uint8), [seed], rules).table()
    count, rows = len(table.z), np.arange(len(table.z))
    begin, end, length = [], [], []

    def step(of, side):
        found = np.where(of >= 0, table.neighbour[np.maximum(of, 0), side], -1)
        back = np.where(found >= 0, table.neighbour[np.maximum(found, 0), (side + 2) % 4], -1)
        return np.where(back == of, found, -1)

    for side in range(4):
        one, other = step(rows, side), step(rows, (side + 1) % 4)
        across = step(one, (side + 1) % 4)
        across = np.where(across == step(other, side), across, -1)
        for there, far in ((one, rules.cell), (across, rules.cell * 2**0.5)):
            begin.append(rows[there >= 0])
            end.append(there[there >= 0])
            length.append(np.full(len(end[-1]), far))
    edges = tuple(np.concatenate(each) for each in (begin, end))
    graph = coo_array((np.concatenate(length), edges), shape=(count, count)).tocsr()
    middle = (np.column_stack([table.column, table.row]) + 0.5) * rules.cell
    there = np.flatnonzero(
        (middle >= box[:2]).all(axis=1) & (middle <= box[2:]).all(axis=1) & (abs(table.z - z) < 0.5)
    )
    away = dijkstra(graph, indices=there, min_only=True)
    near = [
        np.argmin(np.hypot(*(middle - place[:2]).T) + 10.0 * np.abs(table.z - place[2])) for place in starts
    ]
    return away[near]


@pytest.mark.parametrize(
    ("name", "corners", "goals"),
    [
        ("cliff", cliff, {"camp": ([2, 0, 7, 3], 0.0), "hill": ([2, 12, 8, 17], 2.0)}),
        ("spiral-stair", spiral, {"platform": ([4, -1, 8, 2.5], 7.68)}),
    ],
)
def test_paths_are_as_long_as_over_the_cells_of_the_ground(name, corners, goals):
    built = build_world(load_scenario(SCENARIOS / f"{name}.yaml"))
    legs, world = Legs(built), built.world
    lengths = (
        PathFinder(built)
        .find(legs.rows, legs.position[legs.rows], legs.polygon[legs.rows], legs.goal)
        .lengths()
    )
    height = world.mesh.polygon_height[legs.polygon]
    starts = np.column_stack([legs.position, height])
    rules = FillRules(0.25, 2.0, 0.25, 0.25, 0.25, 0.25) if name == "cliff" else FillRules(0.1, 2.0, 0.1)
    for number, (box, z) in enumerate(goals.values()):
        mine = legs.goal == number
        expected = over_cells(corners(), rules, [2, 2, 0], starts[legs.rows[mine]], np.array(box), z)
        # over cells it is up to 8 % longer, and agents keep off the walls
        assert (np.abs(lengths[mine] / expected - 1.0) < 0.15).all(), (lengths[mine], expected)


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.full) for seed in range(2, 21))])
def test_all_drop_over_the_edge_of_the_cliff_and_nobody_comes_up_there(tmp_path, seed):
    scenario = load_scenario(SCENARIOS / "cliff.yaml", sets=[f"seed={seed}"])
    verdict, seen = run_of(scenario, tmp_path)
    assert verdict.arrived == 20
    fastest = []
    for _, own in seen.sort_values("frame").groupby("id"):
        x, y, z = own["x"].to_numpy(), own["y"].to_numpy(), own["z"].to_numpy()
        jump = np.flatnonzero(np.abs(np.diff(z)) > 0.3)
        if z[0] == 2.0:
            assert len(jump) == 1 and z[jump[0] + 1] == 0.0
            edge = 6.0 + 5.0 / 24.0 * x[jump[0]]
            assert abs(y[jump[0]] - edge) < 1.0  # at the edge, and straight over it
            fastest.append((np.hypot(np.diff(x), np.diff(y)) / 0.1).max())
        else:
            assert len(jump) == 0 and x[z > 0.1].max() > 28.0  # over the ramp
    # one that finds the place below taken lands beside it
    assert np.median(fastest) < 2.2 and max(fastest) < 10.0
    # nobody reaches into a triangle but those in the air, past the edge
    near_edge = (seen["y"] - 6.0 - 5.0 / 24.0 * seen["x"]).abs() < 1.2
    assert deepest_in_triangles(seen[~near_edge & (seen["frame"] % 6 == 0)], cliff(), 0.25, 0.45, 1.9) < 0.02


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.full) for seed in range(2, 11))])
def test_people_cross_the_road_over_the_bridge_and_cars_go_under_it(tmp_path, seed):
    verdict, seen = run_of(load_scenario(SCENARIOS / "overpass.yaml", sets=[f"seed={seed}"]), tmp_path)
    assert verdict.arrived == 44
    start = seen.sort_values("frame").drop_duplicates("id").set_index("id")["y"]
    cars = seen["id"].isin(start.index[start.between(10, 16)])
    assert seen[cars]["id"].nunique() == 20
    assert (seen[cars]["z"] == 0.0).all() and seen[cars]["y"].between(10.0, 16.01).all()
    over_road = seen[~cars & seen["y"].between(10.3, 15.7)]
    assert over_road["id"].nunique() == 24
    assert np.allclose(over_road["z"], 3.0) and over_road["x"].between(18, 21).all()
    # some are above cars, and neither minds
    below = seen[cars & seen["x"].between(18, 21)]
    both = below.merge(over_road, on="frame")
    assert (np.hypot(both["x_x"] - both["x_y"], both["y_x"] - both["y_y"]) < 1.0).any() or seed > 1
    corners, _ = overpass()
    assert deepest_in_triangles(seen[~cars & (seen["frame"] % 10 == 0)], corners, 0.2, 0.45, 1.9) < 0.02


def test_while_the_deck_of_the_bridge_is_gone_nobody_is_on_it_and_cars_go_on_below(tmp_path):
    sets = [
        "geometry.areas=[{name: deck, area: {box: [17, 9, 23, 17]}, height: 3}]",
        "events=[{at: 15, close: deck}, {at: 40, open: deck}]",
    ]
    verdict, seen = run_of(load_scenario(SCENARIOS / "overpass.yaml", sets=sets), tmp_path)
    assert verdict.arrived == verdict.agents
    time = seen["frame"] * 0.1
    over_road = seen["x"].between(17.0, 23.0) & seen["y"].between(9.0, 17.0)
    gone = over_road & time.between(15.2, 40.0)
    assert not (gone & (seen["z"] > 1.0)).any()
    assert seen.loc[gone, "id"].nunique() > 3
    assert seen.loc[over_road & (seen["z"] > 1.0) & (time > 40.0), "id"].nunique() > 12


def rock(**more):
    corners = np.concatenate([floor(0, 0, 12, 10), block(0, 5, 0, 12, 10, 2.0)])
    return {
        "version": 1,
        "geometry": {
            "soup": {
                "triangles": corners.tolist(),
                "seeds": [[1, 9, 2], [1, 1, 0]],
                "body": {"side": 0.25},
                "drop": 2.5,
            }
        },
        "goals": {
            "low": {"region": {"box": [8, 0.5, 11.5, 3]}, "height": 0},
            "high": {"region": {"box": [1, 7, 4, 9.5]}, "height": 2},
        },
        "groups": [
            {"name": "down", "count": 10, "height": 2, "region": {"box": [1, 6, 11, 9.5]}, "goals": ["low"]},
            {"name": "up", "count": 3, "height": 0, "region": {"box": [1, 0.5, 6, 3]}, "goals": ["high"]},
        ],
        "stop": {"after": 60, "when": "all_arrived", "stuck_for": 10},
    } | more


@pytest.mark.sample(1)
@pytest.mark.parametrize("navigation", PLANNERS)
@pytest.mark.parametrize("model", MODELS)
def test_under_every_planner_and_model_all_come_down_and_none_up(tmp_path, navigation, model):
    said = {"kind": navigation} | ({"cell_size": 0.1, "object_padding": 0.0} if "grid" in navigation else {})
    verdict, seen = run_of(rock(navigation=said, avoidance=model), tmp_path)
    assert verdict.arrived == 10 and verdict.not_arrived == 3, verdict
    start = seen.sort_values("frame").drop_duplicates("id").set_index("id")["z"]
    below = seen[seen["id"].isin(start.index[start == 0.0])]
    assert (below["z"] == 0.0).all() and below["y"].max() < 5.0
    assert verdict.deepest_overlap_m < 0.05 or model == "none"


def test_a_group_that_excludes_drops_stays_above_and_says_why(tmp_path):
    groups = [
        {"name": "down", "count": 3, "height": 2, "region": {"box": [1, 6, 6, 9]}, "goals": ["low"]},
        {"name": "wheels", "count": 3, "height": 2, "region": {"box": [6, 6, 11, 9]}, "goals": ["low"]},
    ]
    groups[1]["excludes"] = ["drop"]
    verdict, _ = run_of(rock(groups=groups), tmp_path)
    assert verdict.arrived == 3 and {each.reason for each in verdict.left} == {"uses no drop"}
    assert all(each.agent.startswith("wheels") for each in verdict.left)


def test_runs_with_drops_and_links_are_the_same_on_threads_and_from_every_saved_state():
    assert_same_on_threads_and_from_saved_states(rock(), 120, (1, 40, 47, 60))
    building = canonical_data(load_scenario(SCENARIOS / "basement-to-roof.yaml"))
    assert_same_on_threads_and_from_saved_states(building, 700, (1, 250, 433, 600))


def test_a_hundred_at_an_edge_get_over_it_side_by_side(tmp_path):
    group = {"name": "down", "count": 100, "height": 2, "region": {"box": [1, 6, 11, 9.5]}, "goals": ["low"]}
    verdict, seen = run_of(rock(groups=[group]), tmp_path)
    assert verdict.arrived == 100 and verdict.last_arrival_s < 30.0
    seen = seen.sort_values("frame")
    # they land below where they dropped, but for those below whom others stand
    with crowdsim.open_run(tmp_path / "run.h5") as kept:
        events = kept.events().set_index("entity")
    x = [events[events["kind"] == kind]["x"].sort_index() for kind in ("BOARDED", "ALIGHTED")]
    aside = (x[1] - x[0]).abs()
    assert len(aside) == 100 and (aside < 0.01).mean() > 0.5 and aside.max() < 2.0
    over = seen[seen.groupby("id")["z"].diff() < -1.0]
    assert len(over) == 100 and np.histogram(over["x"], np.linspace(0, 12, 7))[0].min() > 5
