"""What it costs that a run is the same bit for bit on every processor, with any number of threads,
in any order of agents.

    python -m benchmarks.bit_identity
        10,000 agents among pillars, one thread; compiles the kernels a second time at first
    python -m benchmarks.bit_identity --json

Three prices can be measured. *Arithmetic*: the same kernels compiled in a process of their own with leave to
reorder sums, to fuse multiplications with additions, to multiply by reciprocals and to forget the sign of
zero (numba's `fastmath` but for its leave to take infinities and nan for impossible, with which the models go
wrong), by turns with the kernels as they are. *Two phases*: integration into new arrays, beside the same in
place. *Random numbers*: a draw that depends on nothing but seed, stream, agent and index, beside numpy's
generators that give each caller the next number.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from crowdsim.bench.rounds import STEPS, WARM_TICKS, machine, middle, ratio

LEAVE = ("reassoc", "contract", "arcp", "nsz", "afn")
ROUNDS = 12


def compile_loosely() -> None:
    """Have all kernels that are imported from now on compiled with leave to be inexact,
    and kept apart from the exact ones.
    """
    from crowdsim.kernels import cache_folder
    from crowdsim.kernels import decorator as kernels

    os.environ["CROWDSIM_CACHE_DIR"] = str(cache_folder.cache_directory() / "-".join(("loose", *LEAVE)))

    kernels.SETTINGS["fastmath"] = set(LEAVE)


def work(loose: bool, agents: int, models: list[str]) -> None:
    """Walk crowds as standard input asks: a line with the number of a model is a turn,
    answered by ns an agent; a path is where positions go.
    """
    if loose:
        compile_loosely()
    from crowdsim.bench.crowds import Walker, crowd

    people = crowd(agents, "pillars")
    walkers = [Walker(people, model) for model in models]
    first = []
    for walker in walkers:
        walker.step()
        first.append(walker.velocity.copy())
        for _ in range(WARM_TICKS - 1):
            walker.step()
    print("ready", flush=True)
    for line in sys.stdin:
        wish = line.strip()
        if not wish.isdecimal():
            np.savez(
                wish, velocity=np.array(first), position=np.array([walker.position for walker in walkers])
            )
            print("kept", flush=True)
            continue
        walker = walkers[int(wish)]
        walker.step()
        begin = time.process_time()
        for _ in range(STEPS):
            walker.step()
        print((time.process_time() - begin) / STEPS / agents * 1e9, flush=True)


class Worker:
    """A process that walks crowds on demand."""

    def __init__(self, loose: bool, agents: int, models: list[str]) -> None:
        command = [
            sys.executable,
            "-m",
            "benchmarks.bit_identity",
            "--worker",
            "loose" if loose else "exact",
            "--agents",
            str(agents),
            "--models",
            *models,
        ]
        root = Path(__file__).resolve().parents[1]
        paths = os.pathsep.join([str(root), *filter(None, [os.environ.get("PYTHONPATH")])])
        self._process = subprocess.Popen(
            command,
            cwd=root,
            env={**os.environ, "PYTHONPATH": paths},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._answer()

    def _answer(self) -> str:
        assert self._process.stdout is not None
        answer = self._process.stdout.readline().strip()
        if not answer:
            raise SystemExit(
                f"A worker ended with exit code {self._process.wait()}; what it had to say stands above."
            )
        return answer

    def ask(self, wish: str) -> str:
        """Return the answer to a line."""
        assert self._process.stdin is not None
        self._process.stdin.write(wish + "\n")
        self._process.stdin.flush()
        return self._answer()

    def close(self) -> None:
        """Let the process end."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def arithmetic(agents: int, models: list[str], rounds: int) -> list[dict[str, Any]]:
    """Return what exact arithmetic costs each model:
    ratio is the time of exact kernels over that of loose ones.
    """
    exact, loose = Worker(False, agents, models), Worker(True, agents, models)
    with tempfile.TemporaryDirectory() as folder:
        kept = []
        times: dict[str, tuple[list[float], list[float]]] = {model: ([], []) for model in models}
        for number, worker in enumerate((exact, loose)):
            path = str(Path(folder) / f"kept-{number}.npz")
            worker.ask(path)
            kept.append(dict(np.load(path)))
        for _ in range(rounds):
            for number, model in enumerate(models):
                for worker, list_of_times in zip((exact, loose), times[model], strict=True):
                    list_of_times.append(float(worker.ask(str(number))))
        exact.close()
        loose.close()
    rows = []
    for number, model in enumerate(models):
        own, other = times[model]
        apart = {
            name: np.hypot(*(kept[0][name][number] - kept[1][name][number]).T)
            for name in ("velocity", "position")
        }
        rows.append(
            {
                "price": "arithmetic",
                "model": model,
                "exact_ns": middle(own),
                "loose_ns": middle(other),
                **ratio(own, other),
                "first_velocities_that_differ": float((apart["velocity"] > 0.0).mean()),
                "apart_after_20_ticks_m": float(apart["position"].max()),
            }
        )
    return rows


def by_turns(
    price: str, own: Callable[[], Any], others: dict[str, Callable[[], Any]], count: int, rounds: int
) -> list[dict[str, Any]]:
    """Return what something of ours costs for each of `count`, in ns, beside other methods."""
    calls = {"ours": own, **others}
    times: dict[str, list[float]] = {name: [] for name in calls}
    for round_ in range(rounds + 1):  # the first compiles, and is not counted
        for name, call in calls.items():
            call()
            begin = time.process_time()
            for _ in range(20):
                call()
            if round_:
                times[name].append((time.process_time() - begin) / 20 / count * 1e9)
    return [
        {
            "price": price,
            "model": name,
            "exact_ns": round(float(np.median(times["ours"])), 2),
            "loose_ns": round(float(np.median(times[name])), 2),
            **ratio(times["ours"], times[name]),
        }
        for name in others
    ]


def two_phases(agents: int, rounds: int) -> list[dict[str, Any]]:
    """Return what it costs to write a move into new arrays instead of moving at once:
    the same kernel, which reads of others nothing, on the same arrays.
    """
    from crowdsim.bodies.integrate import integrate

    rng = np.random.default_rng(1)
    position, velocity, maximum = (
        rng.uniform(0.0, 100.0, (agents, 2)),
        rng.normal(0.0, 1.0, (agents, 2)),
        np.full(agents, 2.0),
    )
    new_position, new_velocity, here, now = (
        np.empty((agents, 2)),
        np.empty((agents, 2)),
        position.copy(),
        velocity.copy(),
    )
    return by_turns(
        "two phases",
        lambda: integrate(0, agents, position, velocity, maximum, 0.05, new_velocity, new_position),
        {"integration in place": lambda: integrate(0, agents, here, now, maximum, 0.05, now, here)},
        agents,
        rounds,
    )


def random_numbers(agents: int, rounds: int) -> list[dict[str, Any]]:
    """Return what a draw costs beside numpy's generators."""
    from crowdsim.world.random import Stream, fill_uniform

    keys, out = np.arange(agents, dtype=np.uint64), np.empty(agents)
    generators = {
        "numpy's default generator": np.random.default_rng(1),
        "numpy's Philox": np.random.Generator(np.random.Philox(1)),
    }
    return by_turns(
        "random numbers", lambda: fill_uniform(1, int(Stream.CHOICE), keys, 0, 0.0, 1.0, out),
        {name: partial(generator.random, out=out) for name, generator in generators.items()}, agents, rounds,
    )  # fmt: skip


def main(given: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--agents", type=int, default=10_000)
    parser.add_argument("--models", nargs="*", help="default: all")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--worker", choices=("exact", "loose"), help=argparse.SUPPRESS)
    arguments = parser.parse_args(given)
    if arguments.worker:
        work(arguments.worker == "loose", arguments.agents, arguments.models)
        return
    from crowdsim.avoidance.registry import available_models

    models = arguments.models or list(available_models())
    rows = arithmetic(arguments.agents, models, arguments.rounds)
    rows += two_phases(arguments.agents, arguments.rounds) + random_numbers(
        arguments.agents, arguments.rounds
    )
    if arguments.json:
        print(json.dumps({**machine(), "agents": arguments.agents, "leave": LEAVE, "rows": rows}, indent=1))
        return
    print(f"{'price':15} {'model or way':26} {'ours, ns':>9} {'other, ns':>9}  ratio [quartiles]")
    for row in rows:
        after = ""
        if "apart_after_20_ticks_m" in row:
            share, apart = row["first_velocities_that_differ"], row["apart_after_20_ticks_m"]
            after = f"; {100 * share:.0f} % of first velocities differ, {apart:.1e} m apart after 20 ticks"
        print(
            f"{row['price']:15} {row['model']:26} {row['exact_ns']:9} {row['loose_ns']:9}  {row['ratio']} "
            f"[{row['ratio_low']}, {row['ratio_high']}]{after}"
        )


if __name__ == "__main__":
    main()
