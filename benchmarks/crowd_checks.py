"""Crowds that meet, and crowds that press:
does the symmetry breaker pay, and how deep do bodies overlap? Measured from recorded positions alone.

    python -m benchmarks.crowd_checks breaker
        last arrivals with and without the breaker: the table of docs/learn/models.md, an hour
    python -m benchmarks.crowd_checks overlaps
        deepest overlaps and longest steps: the table of docs/learn/bodies.md, some hours
    python -m benchmarks.crowd_checks breaker --scenes "imo-8, 50" --models orca clearpath --seeds 3
    python -m benchmarks.crowd_checks overlaps --runs overlaps.jsonl --table
        the table of what is kept there so far; nothing is run

Each run is a line of the file `--runs`; what is in it already is not run again, so that a measurement can be
broken off and gone on with. Overlaps are those of all pairs of discs in every tick (`record.rate` is one over
the tick), on the positions that the recording keeps, where the two stand less than a metre above one another.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from scipy.spatial import cKDTree

from crowdsim.scenario.load import load_scenario
from crowdsim.simulation.simulation import Simulation
from tests.crowds import SCENARIOS

MODELS = ("orca", "clearpath", "hrvo", "sampled-hrvo", "toi")
MOST_LATER = 0.02  # Share by which the mean last arrival may be later with the breaker than without.
MOST_M = 0.05  # An overlap may be as deep as this.
# Agents that stand less than this above one another may touch: no two floors are so near, and no two that
# touch on a stair so far.
SAME_GROUND_M = 1.0

Scene = tuple[str, list[str]]  # a file below scenarios/, and what is set in it


def door_between_rooms(width: float, *, people: int) -> list[str]:
    """Return what makes of imo-8 two rooms with a door in a wall of 0.2 m,
    and as many people on each side.
    """
    return [
        f"geometry.walkable.1.box=[10, {5 - width / 2}, 10.2, {5 + width / 2}]",
        "geometry.walkable.2.box=[10.2, 0, 20.2, 10]",
        "goals.east.exit.box=[19.2, 0, 20.2, 10]",
        "groups.westbound.region.box=[10.2, 0, 20.2, 10]",
        f"groups.eastbound.count={people}",
        f"groups.westbound.count={people}",
    ]


MEETING: dict[str, Scene] = {
    "imo-8, 10": ("standards/imo-8.yaml", ["groups.westbound.count=10"]),
    "imo-8, 50": ("standards/imo-8.yaml", []),
    "imo-8, 100": ("standards/imo-8.yaml", ["groups.westbound.count=100"]),
    "30 and 30 at a door of 1.2 m": ("standards/imo-8.yaml", door_between_rooms(1.2, people=30)),
    "lanes": ("standards/lanes.yaml", []),
}
PRESSING: dict[str, Scene] = {
    "1,000 at a door of 1 m": (
        "standards/door.yaml",
        [
            "geometry.walkable.0.box=[-20, -8, 10, 16]",
            "groups.crowd.count=1000",
            "groups.crowd.region.box=[-20, -8, 8, 16]",
            "stop.after=600",
        ],
    ),
    "rimea-9, two exits": ("standards/rimea-9.yaml", ["groups.crowd.goals=two"]),
}
SHIPPED: dict[str, Scene] = {
    f"{path.parent.name}/{path.stem}".removeprefix("scenarios/"): (str(path.relative_to(SCENARIOS)), [])
    for path in (*sorted(SCENARIOS.glob("*.yaml")), *sorted((SCENARIOS / "standards").glob("*.yaml")))
    if path.stem not in ("city", "open-1000000")  # a million people each
}
CROWDS = {**MEETING, **PRESSING}  # of which several seeds say more than one
SCENES = {**SHIPPED, **CROWDS}


def run_once(
    name: str, model: str, seed: int, breaker: bool, overlaps: bool, sets: Sequence[str]
) -> dict[str, Any]:
    """Run a scene; return when the last one arrived (s), how many did not,
    and how deep agents were in each other (m).
    """
    file, own = SCENES[name]
    chosen = [f"avoidance={model}", f"seed={seed}", f"symmetry.enabled={str(breaker).lower()}", *own, *sets]
    scenario = load_scenario(SCENARIOS / file, sets=[*chosen, "record.columns=[]"])
    found: dict[str, Any] = {
        "scene": name,
        "model": model,
        "seed": seed,
        "breaker": breaker,
        "sets": list(sets),
    }
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run.h5" if overlaps else None
        if overlaps:
            scenario = load_scenario(
                SCENARIOS / file, sets=[*chosen, "record.columns=[]", f"record.rate={1.0 / scenario.tick}"]
            )
        with Simulation(scenario, out=out) as run:
            verdict = run.run()
        if out is not None:
            depth, at_s = deepest_overlap(out)
            found |= {"deepest_m": depth, "at_s": at_s, "step_m": longest_step(out)}
    last = verdict.last_arrival_s if not verdict.not_arrived else None
    return {
        **found,
        "last_s": last,
        "left": verdict.not_arrived,
        "simulated_s": verdict.simulated_s,
        "reported_m": verdict.deepest_overlap_m,
    }


def deepest_overlap(recording: Path) -> tuple[float, float]:
    """Return the deepest overlap of two recorded agents (m), and when it was (s)."""
    deepest, when = 0.0, 0.0
    with h5py.File(recording) as file:
        radius_of = np.zeros(int(file["roster"]["entity"].max(initial=0)) + 1)
        radius_of[file["roster"]["entity"]] = file["roster"]["radius"]
        fps, starts = (
            float(file["trajectory"].attrs["fps"]),
            [*file["frames/start"][:].tolist(), len(file["trajectory"])],
        )
        for frame, (start, stop) in enumerate(pairwise(starts)):
            rows = file["trajectory"][start:stop]
            radius, place = radius_of[rows["id"]], np.stack([rows["x"], rows["y"]], axis=1)
            if stop - start < 2:
                continue
            one, other = cKDTree(place).query_pairs(2.0 * radius.max(), output_type="ndarray").T
            depth = radius[one] + radius[other] - np.hypot(*(place[one] - place[other]).T)
            depth = depth[np.abs(rows["z"][one] - rows["z"][other]) < SAME_GROUND_M]
            if depth.max(initial=0.0) > deepest:
                deepest, when = float(depth.max()), frame / fps
    return deepest, when


def longest_step(recording: Path) -> float:
    """Return the longest distance from one recorded place to the next (m)."""
    with h5py.File(recording) as file:
        rows, starts = file["trajectory"][:], [*file["frames/start"][:].tolist(), len(file["trajectory"])]
    frame = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    order = np.lexsort((frame, rows["id"]))
    follows = (np.diff(rows["id"][order]) == 0) & (np.diff(frame[order]) == 1)
    return float(np.hypot(np.diff(rows["x"][order]), np.diff(rows["y"][order]))[follows].max(initial=0.0))


def kept_runs(file: Path) -> list[dict[str, Any]]:
    """Return the runs that a file keeps."""
    return (
        [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []
    )


def key_of(run: dict[str, Any]) -> tuple[Any, ...]:
    """Return what distinguishes a run from others."""
    return run["scene"], run["model"], run["seed"], run["breaker"], tuple(run["sets"])


def breaker_rows(runs: list[dict[str, Any]]) -> Iterator[tuple[str, ...]]:
    """Yield a row for each scene and model: last arrivals with and without the breaker,
    and whether it keeps the bound.
    """
    for scene, model in dict.fromkeys((run["scene"], run["model"]) for run in runs):
        by_seed: dict[int, dict[bool, dict[str, Any]]] = {}
        for run in runs:
            if (run["scene"], run["model"]) == (scene, model):
                by_seed.setdefault(run["seed"], {})[run["breaker"]] = run
        pairs = [each for _, each in sorted(by_seed.items()) if len(each) == 2]
        if not pairs:
            continue
        last = {
            on: np.array([pair[on]["last_s"] or pair[on]["simulated_s"] for pair in pairs])
            for on in (True, False)
        }
        left = {on: [pair[on]["left"] for pair in pairs] for on in (True, False)}
        lost = sum(
            bool(with_it) and not without for with_it, without in zip(left[True], left[False], strict=True)
        )
        ratio = last[True].mean() / last[False].mean()
        error = (
            (last[True] - last[False]).std(ddof=1) / np.sqrt(len(pairs)) / last[False].mean()
            if len(pairs) > 1
            else np.nan
        )
        yield (
            scene,
            model,
            str(len(pairs)),
            *(
                f"{last[on].mean():.1f} ({last[on].min():.0f} to {last[on].max():.0f})"
                for on in (False, True)
            ),
            *(f"{sum(map(bool, left[on]))}" for on in (False, True)),
            f"{100.0 * (ratio - 1.0):+.1f} ± {100.0 * error:.1f}",
            "yes" if ratio <= 1.0 + MOST_LATER and not lost else "no",
        )


def overlap_rows(runs: list[dict[str, Any]], models: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield a row for each scene: the deepest overlap under each model (cm), what runs say of it,
    and the longest step (cm), of all seeds.
    """
    for scene in dict.fromkeys(run["scene"] for run in runs):
        of = {
            model: [
                run for run in runs if (run["scene"], run["model"]) == (scene, model) and "deepest_m" in run
            ]
            for model in models
        }
        seeds = {len(found) for found in of.values()}
        yield (
            scene,
            " to ".join(map(str, sorted({min(seeds), max(seeds)}))),
            *(
                "" if not found else f"{100.0 * max(run['deepest_m'] for run in found):.1f}"
                for found in of.values()
            ),
            *(
                "" if not found else f"{100.0 * max(run[key] for run in found):.1f}"
                for key in ("reported_m", "step_m")
                for found in of.values()
            ),
        )


def print_table(heads: Sequence[str], rows: Iterator[tuple[str, ...]]) -> None:
    """Print a table in Markdown."""
    print("| " + " | ".join(heads) + " |\n" + "| --- " * len(heads) + "|")
    for row in rows:
        print("| " + " | ".join(row) + " |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("breaker", "overlaps"))
    parser.add_argument("--scenes", nargs="*", choices=list(SCENES), metavar="SCENE", help="; ".join(SCENES))
    parser.add_argument("--models", nargs="*", default=list(MODELS))
    parser.add_argument(
        "--seeds",
        type=int,
        help=(
            "how many, from 1 on; 10 for the breaker, 3 for overlaps of crowds, 1 for overlaps of other "
            "scenes"
        ),
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="as `crowdsim run` takes it"
    )
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--runs", type=Path, help="default: runs/crowd-checks-WHAT.jsonl")
    parser.add_argument("--table", action="store_true", help="run nothing, show what is kept")
    arguments = parser.parse_args()
    compares = arguments.what == "breaker"
    scenes = arguments.scenes or list(MEETING if compares else SCENES)
    file = arguments.runs or Path("runs") / f"crowd-checks-{arguments.what}.jsonl"
    wanted = [
        (scene, model, seed, breaker, not compares, tuple(arguments.set))
        for scene in scenes
        for seed in range(1, 1 + (arguments.seeds or (10 if compares else 3 if scene in CROWDS else 1)))
        for model in arguments.models
        for breaker in ((True, False) if compares else (True,))
    ]
    done = {key_of(run) for run in kept_runs(file)}
    if not arguments.table:
        file.parent.mkdir(exist_ok=True)
        with (
            ProcessPoolExecutor(arguments.processes, mp_context=get_context("spawn")) as pool,
            file.open("a") as kept,
        ):
            for future in as_completed(
                [pool.submit(run_once, *each) for each in wanted if (*each[:4], each[5]) not in done]
            ):
                kept.write(json.dumps(future.result()) + "\n")
                kept.flush()
    keys = {(*each[:4], each[5]) for each in wanted}
    runs = [run for run in kept_runs(file) if key_of(run) in keys]
    runs.sort(key=lambda run: (scenes.index(run["scene"]), arguments.models.index(run["model"]), run["seed"]))
    if compares:
        heads = (
            "scene",
            "model",
            "seeds",
            "last, s: without",
            "with the breaker",
            "jams without",
            "with",
            "later, %",
            f"at most {100 * MOST_LATER:.0f} %",
        )
        print_table(heads, breaker_rows(runs))
    else:
        heads = (
            "scene",
            "seeds",
            *(f"{model}{what}" for what in (", cm", " says", " step") for model in arguments.models),
        )
        print_table(heads, overlap_rows(runs, arguments.models))


if __name__ == "__main__":
    main()
