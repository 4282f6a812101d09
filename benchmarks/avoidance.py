"""The ORCA step beside RVO2's, on the same agents in one run, alternated: ratios are the result, times are of this machine.

    python benchmarks/avoidance.py                  all sizes, about two minutes
    python benchmarks/avoidance.py --agents 10000   one size
    python benchmarks/avoidance.py --json           one JSON object a row
    python benchmarks/avoidance.py --models         our own models side by side instead, in the open and among pillars

A step here is index, neighbours, half-planes, linear programs and integration; RVO2's is `doStep` of the wheel `pyrvo`, on one thread. Agents stand
1 a square metre with radii of 0.2 to 0.25 m, want to go to places drawn all over the square at 1.34 +/- 0.26 m/s and may go 1.3 times as fast;
10 neighbours, range 5 m, horizon 5 s, step 0.05 s. Both sides start from the same state after 20 ticks of warming up.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from crowdsim.avoidance import orca
from crowdsim.avoidance.model import AvoidanceModel, CrowdView, empty_choice
from crowdsim.avoidance.registry import available_models, model_named
from crowdsim.bodies.integrate import integrate
from crowdsim.bodies.separate import Separator
from crowdsim.geometry.cells import CellIndex
from crowdsim.geometry.walls import Walls, no_walls, walls_from_rings
from crowdsim.threads import Team

TICK, HORIZON, RANGE, NEIGHBOURS = 0.05, 5.0, 5.0, 10
PITCH, PILLAR, SIGHT = 4.0, 0.6, 1.75  # m: pillars of 0.6 m every 4 m; walls matter up to the sight of the fastest in half a second


class Crowd:
    """A crowd that walks by crowdsim's kernels."""

    def __init__(self, agents: int, shuffled: bool, threads: int, seed: int = 1) -> None:
        rng = np.random.default_rng(seed)
        side, columns = np.sqrt(agents), int(np.ceil(np.sqrt(agents)))
        grid = np.stack(np.meshgrid(np.arange(columns), np.arange(columns)), axis=-1).reshape(-1, 2)[:agents]
        order = rng.permutation(agents) if shuffled else np.arange(agents)
        self.position = ((grid + 0.5 + rng.uniform(-0.25, 0.25, grid.shape)) * side / columns)[order]
        self.radius = rng.uniform(0.2, 0.25, agents)[order]
        self.speed = np.clip(rng.normal(1.34, 0.26, agents), 0.5, 2.2)[order]
        away = rng.uniform(0.0, side, (agents, 2))[order] - self.position
        self.wish = away * (self.speed / np.hypot(away[:, 0], away[:, 1]))[:, None]
        self.maximum = 1.3 * self.speed
        self.velocity, self.reach = np.zeros((agents, 2)), np.full(agents, np.inf, np.float32)
        self.active, self.layer, self.zone = np.ones(agents, np.uint8), np.zeros(agents, np.int32), np.zeros(agents, np.int64)
        self.entity, self.far = np.arange(1, agents + 1), np.full(agents, np.inf, np.float32)
        self.out, self.tentative, self.walked = empty_choice(agents), np.empty((agents, 2)), np.empty((agents, 2))
        self.index, self.walls, self.team, self.separator = CellIndex(1.5), no_walls(), Team(threads), Separator()
        self.model: AvoidanceModel = orca.Orca(orca.Orca.Parameters(neighbour_count=NEIGHBOURS, neighbour_distance=RANGE, time_horizon=HORIZON))

    def among_pillars(self) -> None:
        """Put pillars on the ground; those who stand in one do not see it."""
        self.walls = pillars(float(np.sqrt(len(self.entity))))

    def step(self, stages: dict[str, list[float]] | None = None, part: bool = False) -> None:
        """Walk one tick; with `part`, push overlapping bodies apart as well (not a part of RVO2's step)."""
        n = len(self.entity)
        if len(self.walls.start):
            columns = int(np.sqrt(len(self.walls.zone_start) - 1))
            place = np.clip((self.position / PITCH).astype(np.int64), 0, columns - 1)
            self.zone = place[:, 0] * columns + place[:, 1]
        clock = [time.perf_counter()]
        cells = self.index.build(self.position, self.layer)
        clock.append(time.perf_counter())
        view = CrowdView(
            self.entity, self.position, self.velocity, self.wish, self.radius, self.maximum, self.active, self.zone, self.layer, cells, self.walls, self.reach
        )
        self.model.choose(view, TICK, self.team, self.out)
        clock.append(time.perf_counter())
        self.team.run(integrate, n, self.position, self.out.velocity, self.maximum, TICK, self.walked, self.tentative)
        self.position, self.tentative = self.tentative, self.position
        self.velocity, self.walked = self.walked, self.velocity
        clock.append(time.perf_counter())
        if part:
            self.separator.separate(
                self.position, self.radius, self.active, self.layer, self.zone, self.far, self.walls, self.team, self.tentative
            )
            clock.append(time.perf_counter())
        if stages is not None:
            for name, begin, end in zip(("index", "choose", "integrate", "separate"), clock, clock[1:], strict=False):
                stages.setdefault(name, []).append((end - begin) / n * 1e9)


def pillars(side: float) -> Walls:
    """Return walls of pillars over a square, with a list for each square of the pitch."""
    columns = int(np.ceil(side / PITCH))
    middle = (np.stack(np.meshgrid(np.arange(columns), np.arange(columns), indexing="ij"), axis=-1).reshape(-1, 2) + 0.5) * PITCH
    corners = np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, 1.0], [1.0, -1.0]]) * PILLAR / 2.0  # clockwise: the free ground is outside
    walls = walls_from_rings(list(middle[:, None] + corners))
    low, high = np.minimum(walls.start, walls.end), np.maximum(walls.start, walls.end)
    starts, lists = [0], []
    for centre in middle:
        near = np.flatnonzero(((low < centre + PITCH / 2 + SIGHT) & (high > centre - PITCH / 2 - SIGHT)).all(axis=1))
        lists.append(near.astype(np.int32))
        starts.append(starts[-1] + len(near))
    return walls._replace(zone_start=np.array(starts, dtype=np.int64), zone_wall=np.concatenate(lists))


def rvo2_of(crowd: Crowd) -> Callable[[], None]:
    """Return RVO2's step on the same agents."""
    import pyrvo

    simulator = pyrvo.RVOSimulator(TICK, RANGE, NEIGHBOURS, HORIZON, 0.5, 0.25, 2.0)
    for row in range(len(crowd.entity)):
        simulator.add_agent(
            tuple(crowd.position[row]), RANGE, NEIGHBOURS, HORIZON, 0.5, float(crowd.radius[row]), float(crowd.maximum[row]), tuple(crowd.velocity[row])
        )
        simulator.set_agent_pref_velocity(row, tuple(crowd.wish[row]))
    return simulator.do_step


def measure(agents: int, shuffled: bool, threads: int, rounds: int) -> dict[str, object]:
    """Return medians of alternated rounds, ns an agent and tick, their ratio, and medians of stages by the wall clock."""
    crowd = Crowd(agents, shuffled, threads)
    for _ in range(20):
        crowd.step(part=True)
    theirs = rvo2_of(crowd)
    for _ in range(2):
        crowd.step()
        theirs()
    own, other, stages = [], [], {}
    clock = time.process_time if threads == 1 else time.perf_counter  # on one thread other work on the machine is left out of account
    for _ in range(rounds):
        begin = clock()
        for _ in range(3):
            crowd.step(stages)
        middle = clock()
        theirs()
        own.append((middle - begin) / 3.0 / agents * 1e9)
        other.append((clock() - middle) / agents * 1e9)
    parting: dict[str, list[float]] = {}
    for _ in range(5):
        crowd.step(parting, part=True)
    crowd.team.close()
    return {
        "agents": agents, "ids": "shuffled" if shuffled else "spatial", "threads": threads,
        "crowdsim_ns": round(float(np.median(own)), 1), "rvo2_ns": round(float(np.median(other)), 1),
        "ratio": round(float(np.median(np.array(other) / np.array(own))), 2),
        **{f"{name}_ns": round(float(np.median(values)), 1) for name, values in stages.items()},
        "separate_ns": round(float(np.median(parting["separate"])), 1),
    }


MODEL_PARAMETERS: dict[str, dict[str, object]] = {"sampled-hrvo": {"samples": 60}, "orca": {"neighbour_count": 8}}


def measure_models(agents: int, walls: bool, rounds: int) -> list[dict[str, object]]:
    """Return a row for each model: index and choice on one thread, in ns of processor time an agent and in millions of agents a second."""
    crowds = {}
    for name in available_models():
        crowd, model = Crowd(agents, False, 1), model_named(name)
        crowd.model = model(model.Parameters(**MODEL_PARAMETERS.get(name, {})))
        if walls:
            crowd.among_pillars()
        crowds[name] = crowd
        for _ in range(20):
            crowd.step(part=True)
    times: dict[str, list[float]] = {name: [] for name in crowds}
    for _ in range(rounds):
        for name, crowd in crowds.items():
            begin = time.process_time()
            crowd.step()
            times[name].append((time.process_time() - begin) / agents * 1e9)
    return [
        {
            "model": name, "agents": agents, "ground": "pillars" if walls else "open", "ns": round(float(np.median(times[name])), 1),
            "million_a_second": round(1e3 / float(np.median(times[name])), 2), "samples": round(float(crowd.out.samples.mean()), 1),
            "slow_share": round(float((np.hypot(*crowd.velocity.T) < 0.3).mean()), 3),
        }
        for name, crowd in crowds.items()
    ]


def report(row: dict[str, object], as_json: bool) -> None:
    print(json.dumps(row) if as_json else "  ".join(f"{name} {value}" for name, value in row.items()), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--agents", type=int, nargs="*", default=[1_000, 10_000, 100_000])
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--json", action="store_true", help="print one JSON object a row")
    parser.add_argument("--models", action="store_true", help="our own models side by side")
    arguments = parser.parse_args()
    if arguments.models:
        for walls in (False, True):
            for row in measure_models(10_000, walls, arguments.rounds):
                report(row, arguments.json)
        return
    for agents in arguments.agents:
        for shuffled in (True, False):
            for threads in arguments.threads:
                row = measure(agents, shuffled, threads, arguments.rounds if agents < 50_000 else max(4, arguments.rounds // 3))
                report(row, arguments.json)


if __name__ == "__main__":
    main()
