"""Several floors in whole runs: RiMEA 2, 3 and 13, speed along slopes, who heeds whom,
recordings and their parts by floor.
"""

from __future__ import annotations

import numpy as np
import pytest
import shapely

from crowdsim.recording.export import export_pedpy
from crowdsim.recording.opening import open_run
from crowdsim.scenario.load import load_scenario, parse_scenario
from crowdsim.setup.build import build_world
from crowdsim.simulation.simulation import Simulation
from tests.crowds import SCENARIOS

RISE, RUN = 6.0, 8.0  # 10 m along the slope


def stair(
    groups: str,
    *,
    kind: str = "stair",
    speeds: str = "",
    rise: float = RISE,
    run: float = RUN,
    more: str = "",
) -> str:
    """Two rooms of 10 x 10 m with a stair of 2 m between them, along x from x = 10 on;
    10 m long along the slope if nothing else is said.
    """
    top = 10.0 + run
    return f"""
version: 1
stop: {{after: 200, stuck_for: 30}}
{more}
geometry:
  storeys:
    - {{name: low, elevation: 0, walkable: {{box: [0, 0, 10, 10]}}}}
    - {{name: high, elevation: {rise}, walkable: {{box: [{top}, 0, {top + 10.0}, 10]}}}}
  connections:
    - {{name: flight, kind: {kind}, lower: low, upper: high, foot: [[10, 4], [10, 6]],
        head: [[{top}, 4], [{top}, 6]]{speeds}}}
goals:
  up: {{point: [{top + 9.0}, 5], storey: high}}
  down: {{point: [1, 5], storey: low}}
groups: [{groups}]
"""


def walk(text: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return times (s), places (x, y, z) and layers of the first agent, tick by tick."""
    with Simulation(parse_scenario(text)) as run:
        rows = []
        while not run.why_over() and len(run.world.agents):
            agents = run.world.agents
            rows.append((run.tick * 0.05, *agents.position[0], run.world.heights()[0], agents.layer[0]))
            run.step()
    table = np.array(rows)
    return table[:, 0], table[:, 1:4], table[:, 4]


def time_between(times: np.ndarray, x: np.ndarray, low: float, high: float) -> float:
    """Return how long it takes from one x to another, in between ticks."""
    order = np.argsort(x)
    return abs(float(np.interp(high, x[order], times[order]) - np.interp(low, x[order], times[order])))


@pytest.mark.full
@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("start", "goal", "factor"),
    [("storey: low, positions: [[5, 5]]", "up", 0.5), ("storey: high, positions: [[23, 5]]", "down", 0.75)],
)
@pytest.mark.parametrize("speed", [1.0, 1.34])
def test_rimea_2_and_3_a_stair_takes_the_time_that_its_factor_gives(
    start: str, goal: str, factor: float, speed: float
) -> None:
    """10 m along the slope at the factor times the speed, to 2 % (the tick in which the floor changes is part
    of it).
    """
    times, place, _ = walk(stair(f"{{name: one, {start}, goals: [{goal}], speed: {speed}}}"))
    assert time_between(times, place[:, 0], 10.0, 10.0 + RUN) == pytest.approx(
        10.0 / (factor * speed), rel=0.02
    )
    assert time_between(times, place[:, 0], 6.0, 9.0) == pytest.approx(3.0 / speed, rel=0.02)


@pytest.mark.full
def test_rimea_13_people_come_down_faster_than_they_go_up() -> None:
    ends = {}
    for goal, storey, region in (("up", "low", "[0, 0, 6, 10]"), ("down", "high", "[22, 0, 28, 10]")):
        text = stair(
            f"{{name: all, count: 40, storey: {storey}, region: {{box: {region}}}, goals: [{goal}]}}"
        )
        with Simulation(parse_scenario(text)) as run:
            verdict = run.run()
        assert verdict.not_arrived == 0
        ends[goal] = verdict.last_arrival_s
    assert ends["down"] < 0.9 * ends["up"]


@pytest.mark.sample(1)
@pytest.mark.parametrize("turn", [0, 1])
def test_speed_on_a_ramp_of_32_degrees_is_length_along_the_surface(turn: int) -> None:
    """Straight up, and across it from corner to corner:
    the length in space over the time is the desired speed, to 1 %.
    """
    rise, run = 5.0, 8.0
    across = "storey: low, positions: [[9.7, 4.3]]" if turn else "storey: low, positions: [[5, 5]]"
    text = stair(f"{{name: one, {across}, goals: [up], speed: 1.2}}", kind="ramp", rise=rise, run=run)
    if turn:
        text = text.replace("up: {point: [27.0, 5]", "up: {point: [18.4, 5.7]")
    _, place, layer = walk(text)
    steps = np.linalg.norm(np.diff(place, axis=0), axis=1)[(layer[1:] == 2) & (layer[:-1] == 2)] / 0.05
    assert len(steps) > 100
    assert steps == pytest.approx(np.full(len(steps), 1.2), rel=0.01)


@pytest.mark.full
def test_avoidance_does_not_make_people_faster_than_their_limit_along_a_stair() -> None:
    text = stair(
        "{name: ups, count: 15, storey: low, region: {box: [0, 0, 9, 10]}, goals: [up], speed: 1.2}, "
        "{name: downs, count: 15, storey: high, region: {box: [19, 0, 27, 10]}, goals: [down], speed: 1.2}"
    )
    with Simulation(parse_scenario(text)) as run:
        fastest = 0.0
        for _ in range(500):
            agents, mesh = run.world.agents, run.world.mesh
            # a step follows the ground on which it begins
            slope, was_there = mesh.polygon_slope[run.world.polygons()], agents.layer == 2
            entities = agents.entity.copy()
            run.step()
            if np.array_equal(agents.entity, entities):
                climb = np.sum(slope * agents.velocity, axis=1)
                length = np.sqrt(np.sum(agents.velocity**2, axis=1) + climb**2)
                fastest = max(fastest, float(length[was_there].max(initial=0.0)))
    # the downward factor, times the desired speed, times bodies.top_speed
    assert 0.8 < fastest <= 0.75 * 1.2 * 1.2 * (1.0 + 1e-9)


def straight(second: str) -> float:
    """Return how far a walker under a bridge is led off its straight line by a second group."""
    text = f"""
version: 1
stop: {{after: 30}}
geometry:
  storeys:
    - {{name: floor, elevation: 0, walkable: {{box: [0, 0, 20, 10]}}}}
    - {{name: bridge, elevation: 2.5, walkable: {{box: [8, 0, 12, 10]}}}}
groups:
  - {{name: one, storey: floor, positions: [[1, 5]], goals: {{point: [19, 5], storey: floor}}, speed: 1.3}}
  - {second}
"""
    with Simulation(parse_scenario(text)) as run:
        aside = 0.0
        while len(run.world.agents) > 1:
            # groups come in the order of their names
            aside = max(aside, abs(float(run.world.agents.position[-1, 1]) - 5.0))
            run.step()
    return aside


@pytest.mark.full
def test_nobody_heeds_people_on_a_bridge_above() -> None:
    standing = "positions: [[10, 4.85]]"
    assert straight(f"{{name: above, storey: bridge, {standing}}}") == 0.0
    assert straight(f"{{name: beside, storey: floor, {standing}}}") > 0.1


def test_people_at_the_foot_of_a_stair_give_way_to_those_who_come_down() -> None:
    """Head-on over the line where floor and stair meet:
    they pass without touching, which they would not if each only saw its own floor.
    """
    text = stair(
        "{name: up, storey: low, positions: [[8.6, 5]], goals: [up], speed: 1.2, radius: 0.25}, "
        "{name: down, storey: high, positions: [[18.2, 5.03]], goals: [down], speed: 1.2, radius: 0.25}",
        kind="ramp", rise=1.0, run=3.0,
    ).replace("18.2", "13.2")  # fmt: skip
    with Simulation(parse_scenario(text)) as run:
        nearest = np.inf
        while len(run.world.agents) == 2 and run.tick < 300:
            run.step()
            place = run.world.agents.position
            if len(place) == 2:
                nearest = min(nearest, float(np.hypot(*(place[0] - place[1]))))
        assert run.tick < 300
    assert 0.499 < nearest < 0.9


def test_bodies_on_both_sides_of_a_join_are_pushed_apart_and_those_above_each_other_are_not() -> None:
    text = stair(
        "{name: a, storey: low, positions: [[9.9, 5]]}, {name: b, storey: flight, positions: [[10.1, 5]]}"
    )
    with Simulation(parse_scenario(text)) as run:
        for _ in range(20):
            run.step()
        assert np.hypot(*(run.world.agents.position[0] - run.world.agents.position[1])) == pytest.approx(
            0.4, abs=1e-5
        )
    floors = (
        "{name: low, elevation: 0, walkable: {box: [0, 0, 9, 9]}}, {name: high, elevation: 2.2, walkable: "
        "{box: [0, 0, 9, 9]}}"
    )
    groups = "{name: a, storey: low, positions: [[5, 5]]}, {name: b, storey: high, positions: [[5.1, 5]]}"
    with Simulation(
        parse_scenario(
            f"version: 1\nstop: {{after: 1}}\ngeometry: {{storeys: [{floors}]}}\ngroups: [{groups}]\n"
        )
    ) as run:
        run.step()
        assert run.world.agents.position.tolist() == [[5.0, 5.0], [5.1, 5.0]]


@pytest.mark.full
def test_floors_at_map_coordinates_give_the_same_walk() -> None:
    """Moved by UTM offsets that are whole numbers, a walk up the stair takes the same ticks and stays within
    a micrometre.
    """
    import re

    text = stair("{name: one, storey: low, positions: [[5, 5]], goals: [up], speed: 1.2}")
    far = re.sub(
        r"box: \[(\S+), (\S+), (\S+), (\S+)\]",
        lambda m: f"box: [{_far(m, 1)}, {_far(m, 2)}, {_far(m, 3)}, {_far(m, 4)}]",
        text,
    )
    far = re.sub(r"\[(\d[\d.]*), (\d[\d.]*)\]", lambda m: f"[{_far(m, 1)}, {_far(m, 2)}]", far)
    near_times, near, _ = walk(text)
    far_times, there, _ = walk(far)
    assert len(near_times) == len(far_times)
    assert np.abs(there - near - (400_000.0, 5_000_000.0, 0.0)).max() < 1e-6


def _far(match: object, group: int) -> str:
    return str(float(match[group]) + (400_000.0 if group % 2 else 5_000_000.0))  # type: ignore[index]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory):
    """A short recording of the shipped scenario of two storeys."""
    out = tmp_path_factory.mktemp("floors") / "two.h5"
    with Simulation(load_scenario(SCENARIOS / "two-storeys.yaml", sets=["stop.after=30"]), out=out) as run:
        run.run()
    return out


def test_a_recording_holds_heights_and_floors(recorded) -> None:
    with open_run(recorded) as run:
        rows = run.trajectories(columns=["x", "y", "z", "layer"])
        names, grounds = run.header.layers, [shapely.from_wkt(text) for text in run.header.ground]
    assert names == ("ground", "landing", "upper", "first flight", "ramp", "second flight")
    assert set(rows["layer"]) >= {0, 1, 2, 3, 4, 5}
    for layer, (low, high) in enumerate(
        [(0.0, 0.0), (1.6, 1.6), (3.2, 3.2), (0.0, 1.6), (0.0, 3.2), (1.6, 3.2)]
    ):
        own = rows[rows["layer"] == layer]
        assert own["z"].min() >= low - 1e-9 and own["z"].max() <= high + 1e-9
        assert shapely.distance(grounds[layer], shapely.points(own["x"], own["y"])).max() < 1e-6
    assert rows.loc[rows["layer"] == 4, "z"].max() - rows.loc[rows["layer"] == 4, "z"].min() > 1.0


def test_every_floor_is_exported_as_a_file_that_pedpy_reads(recorded, tmp_path) -> None:
    pedpy = pytest.importorskip("pedpy")
    with open_run(recorded) as run:
        total = run.commit.rows
        files = export_pedpy(run, tmp_path / "two.h5")
    assert len(files) == 6
    read = 0
    for file in files:
        trajectory = pedpy.load_trajectory_from_ped_data_archive_hdf5(trajectory_file=file)
        area = pedpy.load_walkable_area_from_ped_data_archive_hdf5(trajectory_file=file)
        assert len(pedpy.get_invalid_trajectory(traj_data=trajectory, walkable_area=area)) == 0
        read += len(trajectory.data)
    assert read == total


@pytest.mark.full
def test_runs_over_floors_do_not_depend_on_threads_and_go_on_from_a_saved_state() -> None:
    scenario = load_scenario(SCENARIOS / "two-storeys.yaml", sets=["stop.after=20"])
    digests = []
    for threads in (1, 2, 3):
        with Simulation(scenario, threads=threads) as run:
            while run.tick < 200:
                run.step()
            digests.append(run.digest)
    assert len(set(digests)) == 1
    with Simulation(scenario) as first, Simulation(scenario) as second:
        while first.tick < 100:
            first.step()
        second.restore(first.state())
        while second.tick < 200:
            second.step()
        assert second.digest == digests[0]


@pytest.mark.parametrize("name", ["bridge", "two-storeys"])
def test_the_resolved_text_needs_no_file_and_gives_the_same_world(name: str) -> None:
    if name == "bridge":
        pytest.importorskip("trimesh", reason="trimesh is missing: it reads OBJ files")
    first = load_scenario(SCENARIOS / f"{name}.yaml")
    again = parse_scenario(first.canonical())
    assert again.canonical() == first.canonical()
    one, other = build_world(first), build_world(again)
    for field, array in one.world.mesh._asdict().items():
        assert np.array_equal(array, getattr(other.world.mesh, field)), field
    assert np.array_equal(one.agents.position, other.agents.position)


@pytest.mark.full
def test_people_walk_over_and_under_the_bridge_of_an_obj_file() -> None:
    """On the deck, 3 m up, and in the passage 2.7 m below it at the same time,
    and nobody under the ramps or on the crate.
    """
    pytest.importorskip("trimesh", reason="trimesh is missing: it reads OBJ files")
    both = 0
    with Simulation(load_scenario(SCENARIOS / "bridge.yaml")) as run:
        while not run.why_over():
            run.step()
            agents = run.world.agents
            x, y, z = *agents.position.T, run.world.heights()
            on_deck = (x > 16) & (x < 24) & (y > 8) & (y < 12)
            both += bool((z[on_deck] > 2.9).any() and (z[on_deck] < 0.1).any())
            assert np.all((z[on_deck] == 0.0) | (np.abs(z[on_deck] - 3.0) < 1e-9))
            crate = (x > 28) & (x < 30) & (y > 3) & (y < 5)
            assert not crate.any()
        assert run.verdict().not_arrived == 0
    assert both > 50


@pytest.mark.parametrize(
    "box", [[9, 4, 10.5, 8], [9, 3, 12, 5], [9.5, 1, 10, 7], [9, 2, 10, 4], [8, 5, 9.9999999, 7]]
)
@pytest.mark.parametrize("tiles", [0.0, 4.0])
def test_an_exit_may_lie_over_the_foot_of_a_ramp(box, tiles):
    """Its outline cuts the edge of the storey; the ramp has a corner there, too."""
    document = {
        "version": 1,
        "tick": 0.05,
        "stop": {"after": 20, "when": "all_arrived"},
        "geometry": {
            "storeys": [
                {"name": "low", "elevation": 0, "walkable": {"box": [0, 0, 10, 10]}},
                {"name": "high", "elevation": 2, "walkable": {"box": [16, 0, 20, 10]}},
            ],
            "connections": [
                {
                    "name": "ramp", "kind": "ramp", "lower": "low", "upper": "high",
                    "foot": [[10, 2], [10, 6]], "head": [[16, 2], [16, 6]],
                }
            ],
        },
        "goals": {"out": {"exit": {"box": box}, "storey": "low"}},
        "groups": [{"name": "a", "positions": [[18, 4], [18, 6]], "storey": "high", "goals": ["out"]}],
        "navigation": {"tile_size": tiles},
    }  # fmt: skip
    with Simulation(document) as run:
        assert run.run().arrived == 2
