"""Do people slow down in a crowd as real ones do? Speed and flow over density:
our models, Weidmann's relation ([Weidmann 1993]), and measured people.

    python analysis/fundamental_diagram.py [--models orca] [--densities 0.5 1 2 3 4 5] [--out
        runs/fundamental-diagram]

A block of people walks along a corridor of 3 m, as in RiMEA 4; measured are density and speed in its middle
from 5 to 10 s. No velocity-obstacle model is calibrated: they keep people apart and know nothing of how fast
one likes to walk in a crowd. `speed_density: weidmann` puts Weidmann's relation into preferred speeds: that
it is met is a property of what is put in, and not a prediction; against the measured people it is not
calibrated either.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from crowdsim.avoidance.registry import available_models
from crowdsim.measures import area_states, box_area, steady_state, tracks_of
from crowdsim.pictures.run import new_figure
from crowdsim.scenario.load import parse_scenario
from crowdsim.simulation.simulation import Simulation

WIDTH, BEGIN, END = 3.0, 5.0, 45.0  # m; the block starts between x = 5 and 45
# Corridor of 1.8 m, one direction: density 1/m2, speed m/s, specific flow 1/(m s). Juelich archive of
# pedestrian dynamics (doi 10.34735/ped.2009.5, [Zhang 2011]), computed with PedPy 1.5.1.
MEASURED = (
    (0.50, 1.34, 0.70),
    (1.14, 1.21, 1.38),
    (1.56, 1.01, 1.55),
    (1.68, 0.96, 1.61),
    (2.06, 0.66, 1.33),
    (2.46, 0.44, 1.01),
    (3.06, 0.34, 0.95),
)


def weidmann(density: float) -> float:
    """Return the speed of Weidmann's relation (m/s):
    1.34 (1 - exp(-1.913 (1/rho - 1/5.4))), 0 from 5.4 people a square metre on.
    """
    return max(0.0, 1.34 * (1.0 - math.exp(-1.913 * (1.0 / density - 1.0 / 5.4))))


def scene(model: str, law: str, density: float, seed: int) -> dict[str, Any]:
    """Return the scenario of a block of people in a corridor."""
    return {
        "version": 1, "name": f"block-{model}", "seed": seed, "tick": 0.05,
        "stop": {"after": 10, "when": "never"}, "geometry": {"walkable": {"box": [0, 0, 100, WIDTH]}},
        "avoidance": model, "speed_density": law, "record": {"rate": 10, "columns": []},
        "goals": {"end": {"exit": {"box": [99, 0, 100, WIDTH]}}}, "groups": [{
            "name": "block", "count": round(density * WIDTH * (END - BEGIN)),
            "region": {"box": [BEGIN, 0, END, WIDTH]}, "goals": ["end"], "speed": 1.34,
            "radius": 0.2 if density <= 4.5 else 0.17,
        }],
    }  # fmt: skip


def run(model: str, law: str, density: float, seed: int, folder: Path) -> dict[str, Any]:
    """Run one block and return density, speed and flow in its middle."""
    path = folder / f"{model}-{law}-{density:g}-{seed}.h5"
    with Simulation(
        parse_scenario(json.dumps(scene(model, law, density, seed))), out=path, force=True
    ) as simulation:
        simulation.run()
    tracks = tracks_of(path)
    found = steady_state(
        area_states(tracks, box_area(20.0, 0.0, 40.0, WIDTH)), skip_begin_s=5.0, skip_end_s=0.0
    )
    density_here, speed = float(found["density_per_m2"]), float(found["speed_m_s"])
    measured = {"density_per_m2": density_here, "speed_m_s": speed, "flow_per_m_s": density_here * speed}
    return {"model": model, "law": law, "asked_per_m2": density, "seed": seed, **measured}


def table(runs: pd.DataFrame) -> str:
    """Return densities, speeds and flows beside Weidmann's speed and the measured one there."""
    lines = ["model          law       density 1/m2   speed m/s   flow 1/(m s)   Weidmann m/s   measured m/s"]
    densities, speeds = [row[0] for row in MEASURED], [row[1] for row in MEASURED]
    means = runs.groupby(["model", "law", "asked_per_m2"], sort=False)[
        ["density_per_m2", "speed_m_s", "flow_per_m_s"]
    ].mean()
    for row in means.reset_index().to_dict("records"):
        density = row["density_per_m2"]
        measured = (
            f"{np.interp(density, densities, speeds):.2f}"
            if densities[0] <= density <= densities[-1]
            else "-"
        )
        numbers = (
            f"{density:>12.2f} {row['speed_m_s']:>11.2f} {row['flow_per_m_s']:>14.2f} "
            f"{weidmann(density):>14.2f} {measured:>14}"
        )
        lines.append(f"{row['model']:<14} {row['law']:<9} {numbers}")
    return "\n".join(lines)


def draw(runs: pd.DataFrame, out: Path) -> None:
    """Draw speed and flow over density."""
    figure = new_figure(11.0, 4.8)
    panels = figure.subplots(1, 2)
    line = np.linspace(0.1, 5.4, 200)
    speed = np.array([weidmann(density) for density in line])
    measured = np.array(MEASURED)
    for axes, values, people, label in (
        (panels[0], speed, measured[:, 1], "speed, m/s"),
        (panels[1], line * speed, measured[:, 2], "specific flow, 1/(m s)"),
    ):
        axes.plot(line, values, color="black", linewidth=1.2, label="Weidmann's relation")
        axes.plot(
            measured[:, 0], people, "s", color="black", markersize=6, label="measured people, corridor 1.8 m"
        )
        column = "speed_m_s" if axes is panels[0] else "flow_per_m_s"
        for (model, law), part in runs.groupby(["model", "law"], sort=False):
            mean = part.groupby("asked_per_m2")[["density_per_m2", column]].mean()
            style = (
                {"marker": "o", "linestyle": "-"} if law == "weidmann" else {"marker": "x", "linestyle": ":"}
            )
            name = f"{model} with the law put in" if law == "weidmann" else f"{model}, not calibrated"
            axes.plot(mean["density_per_m2"], mean[column], markersize=5, linewidth=1.1, label=name, **style)
        axes.set_xlabel("people a square metre")
        axes.set_ylabel(label)
        axes.set_ylim(bottom=0.0)
    panels[0].legend(fontsize=7)
    figure.suptitle(
        "Fundamental diagram: no model predicts it; with speed_density: weidmann the relation is put in"
    )
    figure.savefig(out, dpi=130)


def main() -> None:
    """Run, print the table, write CSV and picture."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument(
        "--models", nargs="+", default=[name for name in available_models() if name != "none"]
    )
    parser.add_argument("--laws", nargs="+", default=["none", "weidmann"], choices=("none", "weidmann"))
    parser.add_argument("--densities", type=float, nargs="+", default=[0.5, 1.0, 2.0, 3.0, 4.0, 5.0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--out", type=Path, default=Path("runs") / "fundamental-diagram")
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for model in asked.models:
            for law in asked.laws:
                rows += [
                    run(model, law, density, seed, Path(folder))
                    for density in asked.densities
                    for seed in asked.seeds
                ]
                print(f"{model}, law {law}: done", flush=True)
    runs = pd.DataFrame(rows)
    runs.to_csv(asked.out / "runs.csv", index=False)
    draw(runs, asked.out / "diagram.png")
    print(table(runs))
    print(f"every run: {asked.out / 'runs.csv'}; picture: {asked.out / 'diagram.png'}")


if __name__ == "__main__":
    main()
