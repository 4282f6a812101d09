"""An alarm: all agents in a large building get a new goal in one tick. What planning does in that tick and in
those after it, how long agents wait, how far guesses lead meanwhile, and what all paths cost.

    python benchmarks/alarm.py [--agents 100000] [--goals 50] [--kinds optimal mesh] [--work 100000]
        [--milliseconds 10] [--slice 1000] [--ticks 60] [--sample 2000]
        [--detour ./detour_paths] [--quick] [--json]

The building has rooms on both sides of its corridors, one person to two square metres, and a goal for every
fiftieth of them by default, drawn from all of its ground. For each kind of planner there are two runs.

In the first a tick does so much work: requests, expansions and answers. Told are the work and the processor
time of planning in each tick, the worst one, and the share of answers; how long people waited, from the
events alone, beside the bound: all work by that of a tick, and one tick; by how many ticks one was answered
after others that asked later; and from positions alone, how many of those that wait for a path come on, how
far they walk, and by how much their path is shorter then than from where they asked.

In the second planning has so many milliseconds of processor time a tick, whatever the other systems take.
Told is what it took in the tick of the alarm, and in the others.

Without a budget, paths are found by searches of their own, without landmarks and with those that a scenario
has, and by trees that agents share; beside that, what trees and paths take in the kernels alone, which is the
least that sharing can cost. With --detour, Detour ([Recast 2009]) answers the same questions on the same
polygons, for points (`detour_paths.cpp` says how it is built). Processor times of one thread, in turns; take
their ratios.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import shapely

from crowdsim.kernels.threads import Team
from crowdsim.navigation.goals.goals import GoalShape, cut_goals
from crowdsim.navigation.mesh.mesh import locate_many
from crowdsim.navigation.planning.mesh_planner import MeshPlanner
from crowdsim.navigation.planning.protocol import ALL
from crowdsim.navigation.search.landmarks import LandmarkParameters
from crowdsim.navigation.search.sharing import ShareParameters
from crowdsim.scenario.load import parse_scenario
from crowdsim.simulation.budget import ClockBudget
from crowdsim.simulation.simulation import Simulation
from crowdsim.systems import Plan
from crowdsim.systems.base.slices import DEFAULT_SLICE
from crowdsim.world.events import EventKind

RADIUS_M, AREA_M2, TICK_S, REACH_M = 0.2, 2.0, 0.1, 0.5
ROOM_M, DEEP_M, HALL_M, WALL_M, DOOR_M, RING_M = 10.0, 8.0, 4.0, 0.2, 1.2, 6.0
SETTLE_TICKS = 3
DETOUR_SIDES, DETOUR_NODES = 6, 65535
TURNS = 3


def building(agents: int) -> Any:
    """Return the ground of a building with room for so many: two rows of rooms to a corridor, a hall through
    the middle and one all round.
    """
    pitch = 2.0 * DEEP_M + HALL_M
    rows = max(1, round(np.sqrt(agents * AREA_M2 / (2.0 * DEEP_M * ROOM_M) * ROOM_M / pitch)))
    rooms = max(2, round(agents * AREA_M2 / (2.0 * DEEP_M * ROOM_M * rows)))
    wide, high, half, gap = rooms * ROOM_M, rows * pitch, 0.5 * WALL_M, 0.01
    parts = []
    for row in range(rows):
        low, top = row * pitch + DEEP_M, row * pitch + DEEP_M + HALL_M
        parts.append(shapely.box(0, low, wide, top))
        for left in ROOM_M * np.arange(rooms):
            right = left + ROOM_M - half
            parts += [
                shapely.box(left + half, low - DEEP_M + half, right, low - WALL_M),
                shapely.box(left + 2.0, low - WALL_M - gap, left + 2.0 + DOOR_M, low + gap),
                shapely.box(left + half, top + WALL_M, right, top + DEEP_M - half),
                shapely.box(left + 6.0, top - gap, left + 6.0 + DOOR_M, top + WALL_M + gap),
            ]
    outer = shapely.box(-RING_M, -RING_M, wide + RING_M, high + RING_M)
    middle = shapely.box(0.5 * (wide - RING_M), 0, 0.5 * (wide + RING_M), high)
    return shapely.union_all([*parts, middle, outer.difference(shapely.box(0, 0, wide, high))])


def places(ground: Any, count: int, seed: int) -> Any:
    """Return random places that a body has room at, (count, 2) m."""
    room, rng, found = ground.buffer(-2.0 * RADIUS_M), np.random.default_rng(seed), np.zeros((0, 2))
    shapely.prepare(room)
    while len(found) < count:
        points = rng.uniform(ground.bounds[:2], ground.bounds[2:], (2 * count, 2))
        found = np.concatenate([found, points[shapely.contains_xy(room, *points.T)]])
    return np.round(found[:count], 3)


class Alarm:
    """A building, the people in it, and where each is sent."""

    def __init__(self, agents: int, goals: int) -> None:
        self.ground, self.agents = building(agents), agents
        self.start, self.goal = places(self.ground, agents, 1), places(self.ground, goals, 2)

    def simulation(
        self, navigation: dict[str, Any], budget: dict[str, Any], threads: int = 1, **options: Any
    ) -> Simulation:
        """Return a simulation of people that stand, and have done so for a while."""
        goals = {
            f"g{i}": {"point": place, "arrive_within": REACH_M} for i, place in enumerate(self.goal.tolist())
        }
        group = {
            "name": "all", "positions": self.start.tolist(), "radius": RADIUS_M, "leave_on_arrival": False
        }  # fmt: skip
        document = {
            "version": 1, "name": "alarm", "seed": 1, "tick": TICK_S, "stop": {"after": 3600},
            "geometry": {"walkable": {"wkt": self.ground.wkt}}, "goals": goals, "groups": [group],
            "navigation": navigation, "budget": budget,
        }  # fmt: skip
        run = Simulation(parse_scenario(json.dumps(document)), threads=threads, **options)
        for _ in range(SETTLE_TICKS):
            run.step()
        return run

    def ring(self, run: Simulation) -> None:
        """Send all of them elsewhere."""
        entity = run.world.agents.entity.copy()
        for goal in range(len(self.goal)):
            run.set_goal(entity[goal :: len(self.goal)], f"g{goal}")


class Clocked:
    """Stands in for a function, and notes what each call took by the clock of the thread (ms)."""

    def __init__(self, work: Any) -> None:
        self.work, self.ms = work, list[float]()

    def __call__(self, *arguments: Any, **more: Any) -> Any:
        """Call it."""
        begin = time.thread_time_ns()
        result = self.work(*arguments, **more)
        self.ms.append((time.thread_time_ns() - begin) / 1e6)
        return result


def spread(values: Any) -> dict[str, float]:
    """Return the median, the 99th percentile and the most of some values."""
    return {
        "p50": float(np.median(values)), "p99": float(np.percentile(values, 99)), "max": float(np.max(values))
    }  # fmt: skip


def behind(when: Any) -> int:
    """Return by how many ticks one was answered after another that asked later, (n,) in their order."""
    if not len(when):
        return 0
    return int((when - np.minimum.accumulate(when[::-1])[::-1]).max())


def by_work(alarm: Alarm, kind: str, work: int, most: int) -> dict[str, Any]:
    """Ring where a tick does so much work, until all are answered or for so many ticks."""
    with alarm.simulation({"kind": kind}, {"work": work}) as run:
        plan = run.system(Plan)
        paths = plan.paths[0]
        take = paths.take = Clocked(paths.take)  # type: ignore[method-assign]
        request = paths.submit = Clocked(paths.submit)  # type: ignore[method-assign]
        whole = plan.process = Clocked(plan.process)  # type: ignore[method-assign]
        spent, searched = spent_by(run), list[int]()
        ring = Clocked(alarm.ring)
        ring(run)
        begin, answered = run.world.agents.position.copy(), np.full(alarm.agents, -1)
        is_there = np.zeros(alarm.agents, dtype=np.bool_)
        length, walked, came_on = np.zeros(alarm.agents), np.zeros(alarm.agents), []
        for tick in range(most):
            before = run.world.agents.position.copy()
            events = run.step()
            searched.append(int(run.counts["expansions"]))
            moved = np.hypot(*(run.world.agents.position - before).T)
            found = events[events["kind"] == EventKind.PATH_FOUND]
            rows = np.searchsorted(run.world.agents.entity, found["entity"])
            first = answered[rows] < 0  # some lose their path again
            answered[rows[first]], length[rows[first]] = tick, found["x"][first]
            there = events["entity"][events["kind"] == EventKind.ARRIVAL]  # on a guess
            is_there[np.searchsorted(run.world.agents.entity, there)] = True
            waits = np.flatnonzero((answered < 0) & ~is_there)
            if len(waits):
                came_on.append(float(np.mean(moved[waits] > 0.1 * TICK_S)))
                walked[waits] += moved[waits]
            if not run.counts["requests_open"]:
                break
        mesh, goals, polygon = run.world.mesh, run.world.goals, np.empty(alarm.agents, dtype=np.int64)
    locate_many(0, len(begin), mesh, begin, np.full(len(begin), -1, dtype=np.int32), polygon)
    # one that was there first was never answered: it is behind none, and none is behind it
    waited = (answered >= 0) | ~is_there
    when = np.where(answered < 0, tick + 1, answered)
    of_goal = [slice(goal, None, len(alarm.goal)) for goal in range(len(alarm.goal))]
    done = np.flatnonzero(answered > 0)
    shorter = _lengths(mesh, goals, kind, begin, polygon, alarm)[done] - length[done]
    return {
        "kind": kind, "work": work, "polygons": int(mesh.polygon_count), "expansions": sum(searched),
        "spent": sum(spent), "most_in_a_tick": max(spent), "ticks": tick + 1,
        "unanswered": int(run.counts["requests_open"]), "ring_ms": ring.ms[0],
        "request_ms": sum(request.ms), "planning_ms": spread(whole.ms),
        "answers_share": sum(take.ms) / sum(whole.ms),
        "answers_work": 1.0 - (sum(searched) + alarm.agents) / max(1, sum(spent)),
        "longest_wait": int(answered.max()), "bound": -(-sum(spent) // work) + 1,
        "behind": behind(when[waited]),
        "behind_of_a_goal": max(behind(when[each][waited[each]]) for each in of_goal),
        "came_on": float(np.mean(came_on)) if came_on else None,
        "walked_m": float(walked[done].mean()) if len(done) else 0.0,
        "shorter_m": float(shorter.mean()) if len(done) else 0.0,
    }  # fmt: skip


def spent_by(run: Simulation) -> list[int]:
    """Return the work of each tick: requests, expansions and answers. The list grows as the run goes on."""
    spend, spent = run.budget.spend, list[int]()

    def noted(tick: int) -> Any:
        found = spend(tick)
        spent.append(found.used)
        return found

    run.budget.spend = noted  # type: ignore[method-assign]
    return spent


def _lengths(mesh: Any, goals: Any, kind: str, begin: Any, polygon: Any, alarm: Alarm) -> Any:
    """Return how long the paths are from where agents asked, (n,) m."""
    from crowdsim.navigation.planning.portals import FoundCorridors
    from crowdsim.navigation.planning.protocol import Asked

    goal = (np.arange(len(begin)) % len(alarm.goal)).astype(np.int32)
    asked = Asked(mesh, goals, begin, polygon, goal, np.full(len(begin), RADIUS_M))
    return FoundCorridors(MeshPlanner(mesh, goals, kind=kind), asked).lengths()


def by_clock(alarm: Alarm, kind: str, milliseconds: float, size: int, most: int) -> dict[str, Any]:
    """Ring where planning has so many milliseconds of processor time a tick, in slices of that size."""
    with alarm.simulation({"kind": kind}, {"milliseconds": milliseconds, "slice": size}) as run:
        budget, plan = run.budget, run.system(Plan)
        assert isinstance(budget, ClockBudget)
        budget._clock = time.thread_time_ns
        whole = plan.process = Clocked(plan.process)  # type: ignore[method-assign]
        alarm.ring(run)
        for tick in range(most):
            ticks = tick + 1
            budget._others.clear()  # what other systems take is another matter
            run.step()
            if not run.counts["requests_open"]:
                break
        left = int(run.counts["requests_open"])
    return {
        "kind": kind, "milliseconds": milliseconds, "ticks": ticks, "unanswered": left,
        "first_ms": whole.ms[0], "later_ms": spread(whole.ms[1:] or [0.0]),
    }  # fmt: skip


def rates(alarm: Alarm, kinds: list[str], sample: int, detour: str | None) -> list[dict[str, Any]]:
    """Return what a path costs (us of processor time): searches of their own, shared trees, Detour."""
    from crowdsim.navigation.mesh.build import build_mesh

    mesh = build_mesh(alarm.ground).mesh
    goals = cut_goals(mesh, [GoalShape(shapely.Point(place), reach=REACH_M) for place in alarm.goal])
    polygon = np.empty(alarm.agents, dtype=np.int64)
    locate_many(0, alarm.agents, mesh, alarm.start, np.full(alarm.agents, -1, dtype=np.int32), polygon)
    goal = (np.arange(alarm.agents) % len(alarm.goal)).astype(np.int32)
    some, team = np.random.default_rng(3).permutation(alarm.agents)[:sample], Team(1)

    def ask(kind: str, share: bool, rows: Any, landmarks: int = 0) -> tuple[float, float, int]:
        shares = ShareParameters(share_searches=share)
        planner = MeshPlanner(mesh, goals, shares, kind=kind, landmarks=landmarks)
        serve = planner._searches.serve = Clocked(planner._searches.serve)  # type: ignore[method-assign]
        begin = time.thread_time()
        radius = np.full(len(rows), RADIUS_M)
        planner.submit(1, rows + 1, alarm.start[rows], polygon[rows], goal[rows], radius)
        _, made = planner.advance(ALL, team)
        return 1e6 * (time.thread_time() - begin) / len(rows), 1e3 * sum(serve.ms) / len(rows), made

    found: dict[str, list[Any]] = {}
    for _ in range(TURNS):
        for kind in kinds:
            found.setdefault(f"{kind}, alone", []).append(ask(kind, False, some))
            by = ask(kind, False, some, LandmarkParameters().landmarks)
            found.setdefault(f"{kind}, landmarks", []).append(by)
            found.setdefault(f"{kind}, shared", []).append(ask(kind, True, np.arange(alarm.agents)))
        if detour:
            found.setdefault("Detour", []).append(ask_detour(detour, mesh, alarm, polygon, goals, goal, some))
    rows = []
    for name, turns in found.items():
        us, least, more = (float(np.median(column)) for column in zip(*turns, strict=True))
        rows.append({"name": name, "us": us, "least_us": least, "expansions": more})
    return rows


def write_for_detour(
    name: Path, mesh: Any, start: Any, start_polygon: Any, end: Any, end_polygon: Any
) -> None:
    """Write the polygons of a mesh, of six sides at most, and queries as `detour_paths.cpp` reads them.

    Starts and ends are (n, 2) or (n, 3) m, their polygons (n,); where no height is told it is 0.
    """
    count = mesh.polygon_count
    side, behind = (np.full((count, DETOUR_SIDES), -1, dtype=np.int32) for _ in range(2))
    within = np.arange(mesh.edge_count) - mesh.polygon_start[:-1].repeat(np.diff(mesh.polygon_start))
    side[mesh.edge_polygon, within] = mesh.edge_vertex
    beyond = np.where(mesh.edge_twin >= 0, mesh.edge_polygon[mesh.edge_twin], -1)
    behind[mesh.edge_polygon, within] = beyond
    query = np.zeros((len(start), 2, 3))
    query[:, 0, : start.shape[1]], query[:, 1, : end.shape[1]] = start, end
    with name.open("wb") as file:
        np.array([len(mesh.vertex), count, len(start), DETOUR_NODES], dtype=np.int32).tofile(file)
        np.ascontiguousarray(mesh.vertex).tofile(file)
        query.tofile(file)
        side.tofile(file)
        behind.tofile(file)
        np.column_stack([start_polygon, end_polygon]).astype(np.int32).tofile(file)


def ask_detour(program: str, mesh: Any, alarm: Alarm, polygon: Any, goals: Any, goal: Any, rows: Any) -> Any:
    """Return what a path of Detour costs (us), what its search alone costs, and its paths' mean length."""
    piece = goals.goal_start[goal[rows]]
    with tempfile.TemporaryDirectory() as folder:
        asked, answers = Path(folder) / "asked", Path(folder) / "answers"
        end, end_polygon = alarm.goal[goal[rows]], goals.piece_polygon[piece]
        write_for_detour(asked, mesh, alarm.start[rows], polygon[rows], end, end_polygon)
        told = subprocess.run(
            [program, asked, answers], input="1\n", check=True, capture_output=True, text=True
        ).stdout.split()
        length = np.fromfile(answers).reshape(-1, 3)[:, 0]
    assert np.all(length >= 0.0), f"Detour found {np.sum(length >= 0.0)} of {len(rows)} paths"
    search, whole = (1e6 * float(seconds) / len(rows) for seconds in told[-2:])
    return whole, search, float(length.mean())


def show(found: dict[str, Any]) -> None:
    """Print what was measured."""
    print(
        f"{found['agents']:,} people get a new goal in one tick, {found['goals']} goals, "
        f"{found['polygons']:,} polygons"
    )
    for one in found["by_work"]:
        own = one["planning_ms"]
        print(
            f"{one['kind']}, work of {one['work']:,} a tick: {one['spent']:,} in all, "
            f"{one['expansions']:,} of it expansions, {one['most_in_a_tick']:,} in a tick at most; "
            f"{one['unanswered']:,} without an answer after {one['ticks']} ticks\n"
            f"  longest wait {one['longest_wait']} ticks, bound {one['bound']}; of one goal up to "
            f"{one['behind_of_a_goal']}, of all up to {one['behind']} ticks after some that asked later\n"
            f"  sending all {one['ring_ms']:.1f} ms, all requests {one['request_ms']:.1f} ms; planning "
            f"{own['p50']:.1f} ms a tick (99th percentile {own['p99']:.1f}, most {own['max']:.1f}); answers "
            f"are {one['answers_work']:.0%} of the work, and {one['answers_share']:.0%} of the time"
        )
        if one["came_on"] is not None:
            print(
                f"  while they wait {one['came_on']:.1%} come on in a tick; they walk {one['walked_m']:.2f} "
                f"m, and their paths are {one['shorter_m']:.2f} m shorter then"
            )
    for one in found["by_clock"]:
        later = one["later_ms"]
        print(
            f"{one['kind']}, {one['milliseconds']:g} ms of planning a tick: {one['first_ms']:.1f} ms in the "
            f"tick of the alarm, then {later['p50']:.2f} (99th percentile {later['p99']:.2f}, most "
            f"{later['max']:.2f}); {one['unanswered']:,} without an answer after {one['ticks']} ticks"
        )
    detour = next((row["us"] for row in found["rates"] if row["name"] == "Detour"), None)
    for row in found["rates"]:
        beside = f", {detour / row['us']:.2f} times Detour's rate" if detour else ""
        print(f"{row['name']:<18} {row['us']:8.2f} us a path, kernels alone {row['least_us']:8.2f}{beside}")


def main(arguments: list[str] | None = None) -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--agents", type=int, default=100_000)
    parser.add_argument("--goals", type=int, default=50)
    parser.add_argument("--kinds", nargs="+", choices=("optimal", "mesh"), default=["optimal", "mesh"])
    parser.add_argument("--work", type=int, help="work a tick; without it four for each agent")
    parser.add_argument("--milliseconds", type=float, default=10.0)
    parser.add_argument("--slice", type=int, default=DEFAULT_SLICE)
    parser.add_argument("--ticks", type=int, default=60)
    parser.add_argument("--sample", type=int, default=2000)
    parser.add_argument("--detour", metavar="PROGRAM")
    parser.add_argument(
        "--quick", action="store_true", help="2,000 agents, and a tenth of the ticks and paths"
    )
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args(arguments)
    if asked.quick:
        asked.agents, asked.sample, asked.ticks = 2000, asked.sample // 10, asked.ticks // 10
    alarm, work = Alarm(asked.agents, asked.goals), asked.work or 4 * asked.agents
    found: dict[str, Any] = {
        "agents": asked.agents,
        "goals": asked.goals,
        "by_work": [by_work(alarm, kind, work, asked.ticks) for kind in asked.kinds],
        "by_clock": [
            by_clock(alarm, kind, asked.milliseconds, asked.slice, asked.ticks) for kind in asked.kinds
        ],
        "rates": rates(alarm, asked.kinds, asked.sample, asked.detour),
    }
    found["polygons"] = found["by_work"][0]["polygons"]
    if asked.json:
        print(json.dumps(found))
    else:
        show(found)


if __name__ == "__main__":
    main()
