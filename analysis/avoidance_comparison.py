"""How do the avoidance models compare as it gets crowded? Every model, over densities and seeds:
a table, a CSV file with every run, and a picture.

    python analysis/avoidance_comparison.py [--models orca hrvo] [--densities 0.5 1 2] [--seeds 1 2 3]
        [--out runs/avoidance-comparison]

Two groups walk towards each other through a corridor of 30 x 4 m, from one end to the other. The density is
that of the blocks of 8 x 4 m in which they start. Measured are recorded runs: time over the time of the
shortest way, overlaps, and SteerBench's collisions and score.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from crowdsim.avoidance.registry import available_models
from crowdsim.measures import all_tables, summary, tracks_of
from crowdsim.pictures.run import new_figure
from crowdsim.scenario.load import parse_scenario
from crowdsim.simulation.simulation import Simulation

BLOCK_M2 = 8.0 * 4.0
# What counts as a collision: a centimetre. Bodies that are pushed apart touch by less all the time.
DEEPER_THAN_M = 0.01
PANELS = (
    ("time_over_ideal", "time over ideal time", "of those who arrived"),
    ("arrived_share", "share that arrived within 120 s", ""),
    ("collisions_each", "collisions a person", f"deeper than {100 * DEEPER_THAN_M:g} cm"),
    ("score_each", "SteerBench score a person", "less is better"),
)


def scene(model: str, density: float, seed: int) -> dict[str, Any]:
    """Return the scenario of two groups that walk towards each other."""
    count = round(density * BLOCK_M2)
    return {
        "version": 1,
        "name": f"counterflow-{model}",
        "seed": seed,
        "tick": 0.05,
        "stop": {"after": 120, "when": "all_arrived", "stuck_for": 30},
        "geometry": {"walkable": {"box": [0, 0, 30, 4]}},
        "avoidance": model,
        "record": {"rate": 10, "columns": []},
        "goals": {"east": {"exit": {"box": [29.5, 0, 30, 4]}}, "west": {"exit": {"box": [0, 0, 0.5, 4]}}},
        "groups": [
            {"name": "eastbound", "count": count, "region": {"box": [1, 0, 9, 4]}, "goals": ["east"]},
            {"name": "westbound", "count": count, "region": {"box": [21, 0, 29, 4]}, "goals": ["west"]},
        ],
    }


def run(model: str, density: float, seed: int, folder: Path) -> dict[str, Any]:
    """Run one scene and return what it came to."""
    path = folder / f"{model}-{density:g}-{seed}.h5"
    with Simulation(
        parse_scenario(json.dumps(scene(model, density, seed))), out=path, force=True
    ) as simulation:
        simulation.run()
    tracks = tracks_of(path)
    found = summary(tracks, all_tables(tracks, deeper_than_m=DEEPER_THAN_M))
    return {
        "model": model,
        "density_per_m2": density,
        "seed": seed,
        "people": int(found["people"]),
        "arrived_share": found["arrived"] / found["people"],
        "last_arrival_s": found["last_arrival_s"],
        "time_over_ideal": found["mean_time_over_ideal"],
        "detour": found["mean_detour"],
        "overlap_s_each": found["overlap_s"] / found["people"],
        "deepest_overlap_cm": 100.0 * found["deepest_overlap_m"],
        "collisions_each": found["collisions_each"],
        "score_each": found["score_each"],
    }


def table(runs: pd.DataFrame) -> str:
    """Return means and standard deviations over seeds, one line for each model and density."""
    lines = [
        (
            "model          1/m2  people  arrived     time/ideal         detour  overlap s each  deepest "
            "cm  collisions each           score"
        )
    ]
    for (model, density), part in runs.groupby(["model", "density_per_m2"], sort=False):

        def spread(name: str, digits: int, part: pd.DataFrame = part) -> str:
            deviation = part[name].std() if len(part) > 1 else 0.0
            return f"{part[name].mean():.{digits}f} +- {deviation:.{digits}f}"

        lines.append(
            f"{model:<13} {density:>5g} {part['people'].iloc[0]:>7} "
            f"{100 * part['arrived_share'].mean():>6.1f} % {spread('time_over_ideal', 2):>14} "
            f"{spread('detour', 3):>14} {spread('overlap_s_each', 2):>15} "
            f"{part['deepest_overlap_cm'].max():>11.1f} {spread('collisions_each', 2):>16} "
            f"{spread('score_each', 0):>15}"
        )
    return "\n".join(lines)


def draw(runs: pd.DataFrame, out: Path) -> None:
    """Draw means over seeds with their spread, a panel for each measure."""
    figure = new_figure(10.0, 7.5)
    panels = figure.subplots(2, 2)
    densities, models = sorted(runs["density_per_m2"].unique()), runs["model"].unique().tolist()
    for axes, (name, label, note) in zip(panels.ravel(), PANELS, strict=True):
        for number, (model, part) in enumerate(runs.groupby("model", sort=False)):
            groups = part.groupby("density_per_m2")[name]
            mean, low, high = groups.mean(), groups.min(), groups.max()
            # models stand side by side, so that equal ones are seen
            beside = 0.02 * densities[-1] * (number - 0.5 * (len(models) - 1))
            axes.errorbar(
                mean.index + beside,
                mean,
                yerr=[mean - low, high - mean],
                marker="o",
                markersize=4,
                capsize=3,
                linewidth=0.8,
                label=str(model),
            )
        axes.set_xticks(densities)
        axes.set_xlabel("people a square metre at the start")
        axes.set_ylabel(label)
        axes.set_title(note, fontsize=9)
        if name != "time_over_ideal":
            axes.set_ylim(bottom=0.0)
    panels[0, 0].legend(fontsize=8)
    seeds = runs["seed"].nunique()
    figure.suptitle(
        f"Two groups walk towards each other: means over {seeds} seed{'s' if seeds > 1 else ''}, bars from "
        "the least to the greatest"
    )
    figure.savefig(out, dpi=130)


def main() -> None:
    """Run, print the table, write CSV and picture."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--models", nargs="+", default=list(available_models()))
    parser.add_argument("--densities", type=float, nargs="+", default=[0.5, 1.0, 2.0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--out", type=Path, default=Path("runs") / "avoidance-comparison")
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for model in asked.models:
            for density in asked.densities:
                rows += [run(model, density, seed, Path(folder)) for seed in asked.seeds]
                print(f"{model} at {density:g} a square metre: done", flush=True)
    runs = pd.DataFrame(rows)
    runs.to_csv(asked.out / "runs.csv", index=False)
    draw(runs, asked.out / "comparison.png")
    print(table(runs))
    print(f"every run: {asked.out / 'runs.csv'}; picture: {asked.out / 'comparison.png'}")
    print(
        f"spread: {np.size(asked.seeds)} seeds; +- is one standard deviation; deepest is the deepest of all "
        "seeds"
    )


if __name__ == "__main__":
    main()
