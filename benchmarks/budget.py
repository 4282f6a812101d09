"""How planning keeps to its share of a tick: all agents ask for a new path at once, on a large plan.

    python benchmarks/budget.py [--plan plan.wkt] [--agents 2000] [--goals 500] [--milliseconds 20]
        [--slice 1000] [--threads 1] [--repeats 3] [--cpu]

Prints how far planning overran its share in the ticks that it did not finish in, beside what its slices took;
when the last had its path; what slicing costs beside a search at once; and what the slicer itself takes of
it. Without a plan, a hall of 60 x 60 m with pillars is made. With --cpu the budget's clock counts the time of
this thread only, so that other programs on a busy machine stay out of the figures.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import shapely

from crowdsim.kernels.threads import Team
from crowdsim.navigation.planning.mesh_planner import MeshPlanner
from crowdsim.scenario.load import parse_scenario
from crowdsim.setup.build import own_ground, planner_of
from crowdsim.simulation.budget import ClockBudget
from crowdsim.simulation.simulation import Simulation
from crowdsim.systems import Plan

ALL = 1 << 40
SETTLE_TICKS = 20  # in which all agents get a first path, and the budget learns what the other systems cost


def hall(size: int = 60) -> shapely.Polygon:
    """Return a hall with a pillar every two metres."""
    pillars = [shapely.box(x, y, x + 0.6, y + 0.6) for x in range(2, size, 2) for y in range(2, size, 2)]
    return shapely.box(0, 0, size, size).difference(shapely.union_all(pillars))


def places(ground: shapely.Polygon, count: int, seed: int) -> list[list[float]]:
    """Return random places with a metre round them, or as much as the ground has in most places."""
    rng, found = np.random.default_rng(seed), []
    room = next(room for room in (ground.buffer(-1.0), ground.buffer(-0.4)) if room.area > 0.1 * ground.area)
    low, high = room.bounds[:2], room.bounds[2:]
    while len(found) < count:
        points = rng.uniform(low, high, (4096, 2))
        found += points[shapely.contains_xy(room, points[:, 0], points[:, 1])].tolist()
    return found[:count]


def loaded_world(
    ground: shapely.Polygon, agents: int, goals: int, budget: dict[str, Any], **options: Any
) -> Simulation:
    """Return a simulation of people all over some ground, each with one of some goals, that have settled."""
    document = {
        "version": 1,
        "name": "loaded",
        "seed": 1,
        "tick": 0.05,
        "stop": {"after": 3600},
        "geometry": {"walkable": {"wkt": ground.wkt}},
        "goals": {
            f"g{i}": {"point": place, "arrive_within": 0.5}
            for i, place in enumerate(places(ground, goals, 1))
        },
        "groups": [{"name": "all", "positions": places(ground, agents, 2), "goals": ["g0"], "radius": 0.2}],
        "navigation": {"kind": "mesh"},
        "budget": budget,
    }
    run = Simulation(parse_scenario(json.dumps(document)), **options)
    for _ in range(SETTLE_TICKS):
        run.step()
    while run.counts["requests_open"]:
        run.step()
    return run


def send_all(run: Simulation, goals: int, shift: int) -> None:
    """Let all agents ask for a path to another goal, in the next tick."""
    entity = run.world.agents.entity.copy()
    for goal in range(goals):
        run.set_goal(entity[goal::goals], f"g{(goal + shift) % goals}")


class Timed:
    """Notes when a function was called and when it was done, in ns, by standing in for it:
    by a clock, and by the wall outside of that.
    """

    def __init__(self, work: Callable[..., Any], clock: Callable[[], int]) -> None:
        self.work, self.clock, self.began, self.ended = work, clock, [], []
        self.called, self.back = [], []  # by the wall

    def __call__(self, *arguments: Any) -> Any:
        """Call it."""
        self.called.append(time.perf_counter_ns())
        self.began.append(self.clock())
        result = self.work(*arguments)
        self.ended.append(self.clock())
        self.back.append(time.perf_counter_ns())
        return result

    def ms(self) -> np.ndarray:
        """Return what each call took by the clock, in ms."""
        return (np.array(self.ended) - np.array(self.began)) / 1e6


def reading_ns(clock: Callable[[], int]) -> float:
    """Return what looking at a clock costs (ns):
    the clock of a thread is some 2 us on machines where the other is 0.1 us.
    """
    times = []
    for _ in range(20):
        began = time.perf_counter_ns()
        for _ in range(100):
            clock()
        times.append((time.perf_counter_ns() - began) / 100)
    return min(times)


def slicer_ms(slices: Timed, whole: Timed, clock: Callable[[], int]) -> float:
    """Return what the slicer takes: all that happens in it before, between and after its slices,
    as it usually is (ms).

    Gaps are those of the wall, and medians: the machine now and then does something else in one. Readings of
    a clock that is dearer than that of a run are taken off.
    """
    called, back = np.array(slices.called), np.array(slices.back)
    first, last = np.searchsorted(called, whole.called), np.searchsorted(called, whole.back)
    has = last > first
    around = (
        called[first[has]] - np.array(whole.called)[has] + np.array(whole.back)[has] - back[last[has] - 1]
    )
    inner = np.ones(len(called), dtype=np.bool_)
    inner[first[has]] = False
    between = called[inner] - np.roll(back, 1)[inner]
    look, own = reading_ns(clock), reading_ns(time.perf_counter_ns)
    cost = len(around) * (np.median(around) - 3 * look + own) + (
        len(between) * (np.median(between) - look + own) if len(between) else 0.0
    )
    return float(cost / 1e6)


def until_answered(run: Simulation, clock: Callable[[], int] = time.perf_counter_ns) -> dict[str, float]:
    """Step until nobody waits; return how planning kept to its share by a clock,
    and what slices and slicer took.
    """
    searches, budget = run.system(Plan).paths[0].searches, run.budget
    assert isinstance(budget, ClockBudget)
    slices = searches._slice = Timed(searches._slice, clock)
    whole = budget.spend = Timed(budget.spend, clock)  # type: ignore[method-assign]
    budget._clock = clock
    over, ticks = [], 0
    while True:
        share, done = budget.share_ns / 1e6, len(slices.ended)
        run.step()
        ticks += 1
        if not run.counts["requests_open"]:
            break
        if len(slices.ended) - done > 1:  # with one slice, the share was none, and that one is always done
            over.append((whole.ended[-1] - budget._began) / 1e6 - share)
    searches._slice, budget.spend = slices.work, whole.work  # type: ignore[method-assign]
    taken = slices.ms()
    return {
        "ticks": ticks,
        "slices": len(taken),
        "slice_ms": float(taken.mean()),
        "slice_p99_ms": float(np.percentile(taken, 99)),
        "slicer_ms": slicer_ms(slices, whole, clock),
        "slicer_share": slicer_ms(slices, whole, clock) / float(taken.sum()),
        "searching_ms": float(taken.sum()),
        "mean_overrun_ms": float(np.mean(over)) if over else float("nan"),
        "p99_overrun_ms": float(np.percentile(over, 99)) if over else float("nan"),
    }


def search_seconds(run: Simulation, goals: int, slice_size: int, team: Team) -> float:
    """Return how long a new planner takes for the requests of all agents in slices (s)."""
    world, agents = run.world, run.world.agents
    planner = planner_of(run.built, run.scenario.navigation, own_ground(run.built, run.scenario.navigation))
    assert isinstance(planner, MeshPlanner)
    planner.submit(
        1,
        agents.entity,
        agents.position,
        world.polygons(),
        (np.arange(len(agents)) % goals).astype(np.int32),
        agents.radius,
    )
    began = time.perf_counter()
    while planner.waiting:
        planner.advance(slice_size, team)
    return time.perf_counter() - began


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--plan", type=Path)
    for name, default in (("agents", 2000), ("goals", 500), ("slice", 1000), ("threads", 1), ("repeats", 3)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--milliseconds", type=float, default=20.0)
    parser.add_argument("--cpu", action="store_true")
    asked = parser.parse_args()
    ground = shapely.from_wkt(asked.plan.read_text()) if asked.plan else hall()
    budget = {"milliseconds": asked.milliseconds, "slice": asked.slice}
    for goals, title in ((asked.goals, f"{asked.goals} goals"), (5, "5 goals")):
        with loaded_world(ground, asked.agents, goals, budget, threads=asked.threads) as run:
            print(
                f"{asked.agents:,} people ask for a path at once, {title}, {run.world.mesh.polygon_count:,} "
                f"polygons; ticks of {asked.milliseconds:g} ms"
            )
            for repeat in range(asked.repeats):
                send_all(run, goals, 1 + repeat)
                found = until_answered(run, time.thread_time_ns if asked.cpu else time.perf_counter_ns)
                print(
                    f"  all answered in {found['ticks']} ticks; {found['slices']} slices of "
                    f"{found['slice_ms']:.2f} ms "
                    f"(99th percentile {found['slice_p99_ms']:.2f}); "
                    f"overrun {found['mean_overrun_ms']:.2f} ms on average, 99th percentile "
                    f"{found['p99_overrun_ms']:.2f}; slicer {found['slicer_share']:.2%}"
                )
            team = Team(asked.threads)
            times = [
                (search_seconds(run, goals, asked.slice, team), search_seconds(run, goals, ALL, team))
                for _ in range(2 * asked.repeats + 1)
            ]
            sliced, at_once = (float(np.median(column)) for column in zip(*times[1:], strict=True))
            print(
                f"  searching alone: {1e3 * at_once:.0f} ms at once, {1e3 * sliced:.0f} in slices of "
                f"{asked.slice:,}: {sliced / at_once:.2f} times as long"
            )


if __name__ == "__main__":
    main()
