"""Every model on every scene that judges models, as the last part of docs/reference/models-table.md.

    python -m benchmarks.models_table [--models orca,none] [--plugin FILE] [--page
        docs/reference/models-table.md] [--quick]

The forty steering cases are data that is no part of the project; without them their rows are left out, with a
note.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from crowdsim.avoidance.guard import ModelError
from crowdsim.avoidance.plugins import load_plugins
from crowdsim.avoidance.registry import available_models, model_named
from crowdsim.comparison.comparison import Outcome, markdown_table, run_scene
from crowdsim.scenario.load import parse_scenario
from tests.crowds import on_circle, room
from tests.external.data import DATA
from tests.external.test_steering_cases import UNBOUND, document
from tests.standards import (
    DOOR_WIDTHS,
    LONG,
    NARROW,
    bottleneck,
    crowding,
    door,
    lanes,
    last_arrival,
    speed_at,
)

HEADING = "## Every model on every scene\n"  # of the page's last part
CIRCLES = ((8, 5.0), (16, 5.0), (24, 5.0), (40, 10.0), (80, 10.0))
# Last arrivals (s) in the antipodal circles with 5 cm of noise: the original RVO2 library, and the original
# HRVO library.
THEIR_CIRCLES = {"ORCA (RVO2)": (8.4, 11.3, 11.3, 27.9, 39.5), "HRVO (original)": (7.4, 8.3, 9.2, 17.3, 21.4)}


def outcome_of(text: dict, model: str, sets: Sequence[str] = ()) -> Outcome:
    """Run a document under a model."""
    return run_scene(
        parse_scenario(json.dumps(text), file=str(text["name"]), sets=[f"avoidance={model}", *sets]), model
    )


def steering(model: str) -> list[str] | None:
    """Return the row of the forty cases: arrived, cases within their bound, time over ideal, overlaps, stuck;
    None without the data.
    """
    path = DATA / "steering" / "cases.json"
    if not path.exists():
        return None
    found: list[Outcome] = []
    late = []
    for name, case in sorted(json.loads(path.read_text()).items()):
        outcome = outcome_of(document(name, case), model)
        found.append(outcome)
        if outcome.arrived < outcome.agents or (
            name not in UNBOUND and not outcome.last_arrival_s <= 1.25 * outcome.longest_ideal_s + 1.0
        ):
            late.append(name)
    agents, arrived = sum(each.agents for each in found), sum(each.arrived for each in found)
    ratios = [each.time_over_ideal for each in found if np.isfinite(each.time_over_ideal)]
    shown = ", ".join(late[:6]) + (f" and {len(late) - 6} more" if len(late) > 6 else "")
    return [
        model,
        f"{100.0 * arrived / agents:.1f} %",
        f"{len(found) - len(late)} of {len(found)}",
        f"{np.mean(ratios):.3f}" if ratios else "-",
        f"{100.0 * max(each.deepest_overlap_m for each in found):.1f}",
        f"{sum(each.stuck_agent_s for each in found):.0f}",
        shown or "none",
    ]


def circles(model: str, noise: float) -> list[str]:
    """Return the row of the antipodal circles:
    last arrival and deepest overlap of each, and how many did not arrive.
    """
    cells = [model]
    for count, radius in CIRCLES:
        outcome = outcome_of(
            room(
                on_circle(count, radius=radius, noise=noise),
                size=2.0 * radius + 6.0,
                after=120.0,
                name="circle",
            ),
            model,
        )
        left = outcome.agents - outcome.arrived
        cells.append(
            f"{outcome.last_arrival_s:.1f} ({100.0 * outcome.deepest_overlap_m:.1f})"
            + (f", {left} left" if left else "")
        )
    return cells


def lane_row(model: str, sets: Sequence[str], seeds: Sequence[int]) -> list[str]:
    """Return the row of the lane scene."""
    outcomes = [lanes(seed, [f"avoidance={model}", *sets]) for seed in seeds]
    times = [
        verdict.last_arrival_s
        if not verdict.not_arrived and verdict.last_arrival_s is not None
        else float("nan")
        for _, verdict in outcomes
    ]
    orders = ", ".join(f"{order:.2f}" for order, _ in outcomes)
    out = ", ".join(f"{time:.0f}" if np.isfinite(time) else "not all" for time in times)
    return [label(model, sets), orders, out]


def door_row(model: str, sets: Sequence[str], seeds: Sequence[int]) -> list[str]:
    """Return the row of specific flows through doors: means over the seeds."""
    cells = [label(model, sets)]
    for width in DOOR_WIDTHS:
        flows = [door(width, seed, [f"avoidance={model}", "stop.stuck_for=15", *sets]) for seed in seeds]
        left = sum(verdict.not_arrived for _, verdict in flows)
        cells.append(f"{np.nanmean([flow for flow, _ in flows]):.2f}" + (f" ({left} left)" if left else ""))
    return cells


def rimea_row(model: str, sets: Sequence[str]) -> list[str]:
    """Return the row of RiMEA 4, 9, 12 and 15."""
    own = [f"avoidance={model}", *sets]
    speeds = " / ".join(f"{speed_at(density, own)[1]:.2f}" for density in (0.5, 1.0, 2.0, 3.0, 4.0))
    nine = [last_arrival("rimea-9", [*own, *more]) for more in ((), ("groups.crowd.goals=two",))]
    ratio = (
        f"{nine[0]['last_s']:.0f} / {nine[1]['last_s']:.0f} = {nine[1]['last_s'] / nine[0]['last_s']:.2f}"
        + left_of(*nine)
    )
    short, long = last_arrival("rimea-12", own), last_arrival("rimea-12", [*own, *LONG])
    flows = " / ".join(f"{bottleneck([*own, box]):.2f}" for box in NARROW.values())
    first, second = crowding(own)
    straight, corner = last_arrival("rimea-15-straight", own), last_arrival("rimea-15-corner", own)
    return [
        label(model, sets),
        speeds,
        ratio,
        f"{short['last_s']:.0f} / {long['last_s']:.0f}" + left_of(short, long),
        flows,
        f"{first:.0f} / {second:.0f}",
        f"{straight['last_s']:.0f} / {corner['last_s']:.0f}" + left_of(straight, corner),
    ]


def left_of(*runs: dict) -> str:
    """Return how many were left in some runs, in brackets, if any."""
    left = sum(run["left"] for run in runs)
    return f" ({left} left)" if left else ""


def label(model: str, sets: Sequence[str]) -> str:
    """Return a model's name, with Weidmann's relation if it is on."""
    return f"{model} + weidmann" if any("weidmann" in each for each in sets) else model


def sections(models: Sequence[str], quick: bool) -> list[str]:
    """Return that part in pieces, each as soon as its runs are done."""
    both = [(model, sets) for model in models for sets in ((), ("speed_density=weidmann",))]
    seeds = (1,) if quick else (1, 2, 3, 4, 5)
    found = []

    def add(title: str, about: str, headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        print(f"done: {title}", file=sys.stderr, flush=True)
        found.append(f"### {title}\n\n{about}\n\n{markdown_table(headers, rows)}\n")

    cases = [row for model in models if (row := steering(model)) is not None]
    if cases:
        about = (
            "Forty small cases of SteerBench's collection, up to 300 s. Within bound: all arrive, and but "
            "for the nine hard cases the last one within 1.25\n"
            "times the ideal time and a second. Overlaps in centimetres, the deepest of all cases; stuck in "
            "agent-seconds, all cases together."
        )
        add(
            "Steering cases",
            about,
            (
                "model",
                "arrived",
                "cases within bound",
                "time over ideal",
                "deepest overlap",
                "stuck",
                "cases beyond it",
            ),
            cases,
        )
    else:
        found.append("### Steering cases\n\nNot run: the cases are not part of the project.\n")
    heads = ("model", *(f"{count} (R {radius:g} m)" for count, radius in CIRCLES))
    theirs = [[name, *(f"{time:.1f}" for time in times)] for name, times in THEIR_CIRCLES.items()]
    about = (
        "All agents walk to the opposite point. Seconds until the last one arrives, in brackets the deepest "
        "overlap in centimetres"
    )
    add("Antipodal circles, exact", about + ".", heads, [circles(model, 0.0) for model in models])
    add(
        "Antipodal circles, 5 cm of noise",
        about + "; below, the original libraries.",
        heads,
        [*(circles(model, 0.05) for model in models), *theirs],
    )
    about = (
        f"`scenarios/standards/lanes.yaml`, seeds {', '.join(map(str, seeds))}. Order 1 is lanes, some 0.4 "
        "chance, people have 0.9. Expected: 0.7, 45 s."
    )
    add(
        "Lanes",
        about,
        ("model", "order", "all out after (s)"),
        [lane_row(model, sets, seeds) for model, sets in both],
    )
    about = (
        "`scenarios/standards/door.yaml`: specific flow, persons a second and metre, means over the seeds. "
        "People: 1.2 to 2.3. The original RVO2 library:\n"
        "2.0, 2.9, 3.0, 4.4, 4.7."
    )
    add(
        "Doors",
        about,
        ("model", *(f"{width:g} m" for width in DOOR_WIDTHS)),
        [door_row(model, sets, seeds) for model, sets in both],
    )
    about = (
        "`scenarios/standards/rimea-*.yaml`. 4: speed (m/s) at 0.5, 1, 2, 3, 4 persons a square metre "
        "(Weidmann: 1.30, 1.06, 0.61, 0.33, 0.16). 9: last of\n"
        "1,000 by four exits and by two (expected 1.4 to 2.4 times as long). 12: last through a bottleneck "
        "of 0.2 m and of 5 m; persons a second at widths\n"
        "of 0.8, 1.0, 1.2 m; people within 2 m before the first and the second of two. 15: last of 500 "
        "through a straight corridor and round a corner."
    )
    heads = (
        "model",
        "4: speeds",
        "9: four / two exits (s)",
        "12: short / long (s)",
        "12: flow",
        "12: jams",
        "15: straight / corner (s)",
    )
    add("RiMEA 4.1", about, heads, [rimea_row(model, sets) for model, sets in (both[:2] if quick else both)])
    return found


def main() -> None:
    """Run everything and print the tables, or put them at the end of --page."""
    parser = argparse.ArgumentParser(description="every model on every scene that judges models")
    parser.add_argument("--models", default="", help="names, separated by commas; default: all")
    parser.add_argument("--plugin", action="append", default=[], help="file with a model of your own")
    parser.add_argument("--page", type=Path, help="page whose last part is made anew; default: none")
    parser.add_argument("--quick", action="store_true", help="one seed in place of five")
    chosen = parser.parse_args()
    load_plugins(chosen.plugin)
    before = chosen.page.read_text(encoding="utf-8").partition(HEADING) if chosen.page else ("", HEADING, "")
    if not before[1]:  # told now, not after all runs
        raise SystemExit(f'{chosen.page} has no heading "{HEADING.strip()}".')
    models = [name for name in chosen.models.split(",") if name] or list(available_models())
    for name in models:
        model_named(name)
    command = f"python -m benchmarks.models_table --models {','.join(models)}" + (
        " --quick" if chosen.quick else ""
    )
    head = (
        f"{HEADING}\nMade by `{command}` (Python {platform.python_version()}). No number here is a clock "
        "reading: all are the same on every machine.\n"
    )
    try:
        part = "\n".join([head, *sections(models, chosen.quick)])
    except ModelError as error:
        raise SystemExit(str(error)) from None
    if chosen.page is not None:
        chosen.page.write_text(before[0] + part, encoding="utf-8")
    else:
        print(part)


if __name__ == "__main__":
    main()
