"""Agents on ground that was filled among triangles, looked at from their recorded positions."""

import numpy as np
import pytest
import shapely

import crowdsim
from crowdsim.scenario.load import load_scenario, parse_scenario
from crowdsim.simulation.simulation import Simulation
from tests.crowds import SCENARIOS, assert_same_on_threads_and_from_saved_states
from tests.navigation.soup.scenes import block, floor, stair, wall
from tests.navigation.soup.worlds import SHIPPED, as_obj, spiral

PLANNERS = ["mesh", "optimal", "visibility", "grid", "s2-grid"]
MODELS = ["orca", "clearpath", "hrvo", "sampled-hrvo", "none"]


def deepest_in_triangles(seen, corners, radius, step, height):
    """Return how deep (m) discs reach into what stands from a step above their feet to their heads."""
    deepest = 0.0
    for x, y, z in seen[["x", "y", "z"]].to_numpy().tolist():
        spot = shapely.Point(x, y)
        near = np.flatnonzero(
            (corners[:, :, 2].max(axis=1) > z + step)
            & (corners[:, :, 2].min(axis=1) < z + height)
            & (corners[:, :, :2].min(axis=1) < [x + radius, y + radius]).all(axis=1)
            & (corners[:, :, :2].max(axis=1) > [x - radius, y - radius]).all(axis=1)
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
    for name, make in SHIPPED.items():
        assert (SCENARIOS / "maps" / name).read_text() == as_obj(make())


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


@pytest.mark.sample(3)
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


@pytest.mark.sample(2)
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
