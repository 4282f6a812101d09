"""Geometric or sampled velocities: which avoid better? Both families over geometries, densities, seeds,
time horizons and numbers of samples.

    python analysis/geometric_against_sampled.py [--page docs/reference/models-table.md]
        [--workers 2] [--go-on] [--seeds 1:9] [--levels 1 2 3 4]

Writes every run to runs.jsonl in --out; with --page it also puts its tables between the markers of that page
and its pictures beside it. Five geometries, each at four levels of crowding, are run under every model with
its own default numbers; at the third level also with other time horizons, other numbers of samples, and
without the remedies that stand before every model. Costs are taken at the end, by one process, model after
model in several rounds.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import multiprocessing
import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from crowdsim.avoidance.registry import model_named
from crowdsim.comparison.comparison import OverSeeds, markdown_table, over_seeds, run_scene
from crowdsim.comparison.counts import Trace
from crowdsim.pictures.run import new_figure
from crowdsim.scenario.load import parse_scenario
from crowdsim.scenario.model import Scenario
from crowdsim.sweep.design import seeds_of

FAMILIES = {"geometric": ("orca", "clearpath", "hrvo"), "sampled": ("sampled-hrvo", "toi")}
MODELS = tuple(model for family in FAMILIES.values() for model in family)
LEVELS = (1, 2, 3, 4)  # 0.5, 1, 1.5 and 2 people a square metre where they start; circles of 8, 16, 24 and 32
HORIZONS = (1.0, 2.0, 4.0)  # s
# [Mononen 2010]: some 200 begin to be acceptable, 129 x 129 look really good
SAMPLES = ("samples=16", "samples=64", "samples=200", "sampler=grid")
# of horizons, samples and remedies: nobody is alone any more, and nothing is jammed for good under most
# models
CHOSEN_LEVEL = 3
AFTER_S = 45.0  # Of every run: three to four times what somebody alone needs.
# Student's t for 1 to 9 degrees of freedom, two-sided 95 %
T_95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
ROUNDS = 3  # in which costs are taken; the least counts
# One a square metre: with fewer, what a call costs would hide what a choice costs.
COST_PEOPLE, COST_TICKS = 2000, 30


class Spec(NamedTuple):
    """One run: what is put into the scenario beside the seed."""

    geometry: str
    level: int
    model: str
    sets: tuple[str, ...]
    seed: int


# geometries: each takes the level and the seed, and returns what differs from the common part


def counterflow(level: int, seed: int) -> dict[str, Any]:
    """Two blocks walk towards each other through a corridor of 3 m."""
    return {
        "geometry": {"walkable": {"box": [0, 0, 20, 3]}},
        "goals": {"east": {"exit": {"box": [19, 0, 20, 3]}}, "west": {"exit": {"box": [0, 0, 1, 3]}}},
        "groups": [
            _crowd("eastbound", 9 * level, [1, 0, 7, 3], "east"),
            _crowd("westbound", 9 * level, [13, 0, 19, 3], "west"),
        ],
    }


def crossing(level: int, seed: int) -> dict[str, Any]:
    """Two streams cross at right angles on an open square."""
    return {
        "geometry": {"walkable": {"box": [0, 0, 14, 14]}},
        "goals": {"east": {"exit": {"box": [13, 4, 14, 10]}}, "north": {"exit": {"box": [4, 13, 10, 14]}}},
        "groups": [
            _crowd("eastbound", 8 * level, [0.5, 5, 4.5, 9], "east"),
            _crowd("northbound", 8 * level, [5, 0.5, 9, 4.5], "north"),
        ],
    }


def door(level: int, seed: int) -> dict[str, Any]:
    """A room is left by a door of 1 m."""
    outline = [
        [0, 0],
        [8, 0],
        [8, 2.5],
        [8.3, 2.5],
        [8.3, 0],
        [11, 0],
        [11, 6],
        [8.3, 6],
        [8.3, 3.5],
        [8, 3.5],
        [8, 6],
        [0, 6],
    ]
    return {
        "geometry": {"walkable": {"polygon": outline}},
        "goals": {"out": {"exit": {"box": [10, 0, 11, 6]}}},
        "groups": [_crowd("crowd", 8 * level, [1, 1, 5, 5], "out")],
    }


def circle(level: int, seed: int) -> dict[str, Any]:
    """Everybody on a circle of 4 m walks to the opposite point;
    starts are off by up to 5 cm, and by nothing at seed 0.
    """
    count, noise = 8 * level, random.Random(seed)
    agents = []
    for number in range(count):
        x, y = 4.0 * math.cos(2.0 * math.pi * number / count), 4.0 * math.sin(2.0 * math.pi * number / count)
        off = [noise.uniform(-0.05, 0.05) if seed else 0.0 for _ in range(2)]
        start, end = ([round(7.0 + sign * value, 6) for value in (x, y)] for sign in (1.0, -1.0))
        agents.append(
            {
                "position": [round(start[0] + off[0], 6), round(start[1] + off[1], 6)],
                "goals": [{"point": end, "arrive_within": 0.3}],
            }
        )
    return {
        "geometry": {"walkable": {"box": [0, 0, 14, 14]}},
        "groups": [{"name": "circle", "agents": agents, "radius": 0.2, "speed": 1.3}],
    }


def pillars(level: int, seed: int) -> dict[str, Any]:
    """Two blocks walk towards each other through pillars of 0.6 m, 2.4 m apart."""
    boxes = [{"box": [x - 0.3, y - 0.3, x + 0.3, y + 0.3]} for x in (5.6, 8.0, 10.4) for y in (0.6, 3.0, 5.4)]
    return {
        "geometry": {"walkable": {"box": [0, 0, 16, 6]}, "obstacles": boxes},
        "goals": {"east": {"exit": {"box": [15, 0, 16, 6]}}, "west": {"exit": {"box": [0, 0, 1, 6]}}},
        "groups": [
            _crowd("eastbound", 9 * level, [1, 0, 4, 6], "east"),
            _crowd("westbound", 9 * level, [12, 0, 15, 6], "west"),
        ],
    }


GEOMETRIES = {each.__name__: each for each in (counterflow, crossing, door, circle, pillars)}


def _crowd(name: str, count: int, box: list[float], goal: str) -> dict[str, Any]:
    return {"name": name, "count": count, "region": {"box": box}, "goals": goal, "radius": 0.2, "speed": 1.3}


def scenario_of(spec: Spec) -> Scenario:
    """Return the scenario of a run."""
    common = {"version": 1, "name": spec.geometry, "tick": 0.05, "seed": spec.seed, "avoidance": spec.model}
    common["stop"] = {"after": AFTER_S, "when": "all_arrived", "stuck_for": 10}
    return parse_scenario(
        json.dumps({**common, **GEOMETRIES[spec.geometry](spec.level, spec.seed)}), sets=spec.sets
    )


def run(spec: Spec) -> dict[str, Any]:
    """Run one scene and return what it came to, with what was put in."""
    return {
        **spec._asdict(),
        "sets": " ".join(spec.sets),
        **run_scene(scenario_of(spec), spec.model).as_dict(),
    }


def horizon_sets(model: str, horizon: float) -> tuple[str, ...]:
    """Return what sets a time horizon; nothing where it is the model's own."""
    return (
        ()
        if model_named(model).Parameters().time_horizon == horizon
        else (f"avoidance.time_horizon={horizon:g}",)
    )


def samples_sets(samples: str) -> tuple[str, ...]:
    """Return what sets a number of samples; nothing where it is the model's own."""
    key, _, value = samples.partition("=")
    return (
        ()
        if str(getattr(model_named("sampled-hrvo").Parameters(), key)) == value
        else (f"avoidance.{samples}",)
    )


def horizon_models() -> list[str]:
    """Return the models that have a time horizon; HRVO's cones have no end."""
    return [model for model in MODELS if hasattr(model_named(model).Parameters(), "time_horizon")]


NO_REMEDIES = ("symmetry.enabled=false",)
REMEDIES_IN = ("counterflow", "crossing")  # beside the exact circle
TRAILS_IN = ("counterflow", "door", "circle")


def plan(seeds: Sequence[int], levels: Sequence[int]) -> dict[str, list[Spec]]:
    """Return the runs of each part of the study; a run may belong to several."""
    chosen = CHOSEN_LEVEL if CHOSEN_LEVEL in levels else max(levels)
    return {
        "densities": [
            Spec(where, level, model, (), seed)
            for where in GEOMETRIES
            for level in levels
            for model in MODELS
            for seed in seeds
        ],
        "horizons": [
            Spec(where, chosen, model, horizon_sets(model, horizon), seed)
            for where in GEOMETRIES
            for model in horizon_models()
            for horizon in HORIZONS
            for seed in seeds
        ],
        "samples": [
            Spec(where, chosen, "sampled-hrvo", samples_sets(samples), seed)
            for where in GEOMETRIES
            for samples in SAMPLES
            for seed in seeds
        ],
        "remedies": [
            *(Spec("circle", chosen, model, sets, 0) for model in MODELS for sets in ((), NO_REMEDIES)),
            *(
                Spec(where, chosen, model, NO_REMEDIES, seed)
                for where in REMEDIES_IN
                for model in MODELS
                for seed in seeds
            ),
        ],
    }


def run_all(specs: Sequence[Spec], kept: Path, workers: int, *, go_on: bool, minutes: float) -> pd.DataFrame:
    """Run what is not known yet, each once; every run is a line of a file as soon as it is done."""
    until = time.monotonic() + 60.0 * minutes
    if not go_on:
        kept.unlink(missing_ok=True)
    known = (
        [json.loads(line) for line in kept.read_text(encoding="utf-8").splitlines()] if kept.exists() else []
    )
    done = {
        Spec(*(tuple(row[key].split()) if key == "sets" else row[key] for key in Spec._fields))
        for row in known
    }
    # where it is stopped, whole seeds are done
    todo = sorted((spec for spec in dict.fromkeys(specs) if spec not in done), key=lambda spec: spec.seed)
    print(f"{len(todo)} runs to do, {len(done)} known", flush=True)
    with contextlib.ExitStack() as stack:
        file = stack.enter_context(kept.open("a", encoding="utf-8"))
        pool = (
            stack.enter_context(multiprocessing.get_context("spawn").Pool(workers)) if workers > 1 else None
        )
        for number, row in enumerate(map(run, todo) if pool is None else pool.imap_unordered(run, todo), 1):
            known.append(row)
            file.write(json.dumps(row) + "\n")
            file.flush()
            if number % 50 == 0 or number == len(todo):
                print(f"{number} of {len(todo)} done", flush=True)
            if time.monotonic() > until and number < len(todo):
                raise SystemExit(f"the time is up; {len(todo) - number} runs are left for --go-on")
    table = pd.DataFrame(known).astype({"sets": str})
    people = table["agents"].astype(float)
    return table.assign(
        arrived_share=100.0 * table["arrived"] / people,
        stuck_each_s=table["stuck_agent_s"] / people,
        overlaps_each=table["overlaps"] / people,
        time_over_ideal=table["time_over_ideal"].astype(float),
        path_over_optimal=table["path_over_optimal"].astype(float),
    )


def part_of(runs: pd.DataFrame, **wanted: Any) -> pd.DataFrame:
    """Return the runs in which columns have these values."""
    for column, value in wanted.items():
        runs = runs[runs[column] == value]
    return runs


# figures

MEASURES = {  # column: heading, digits
    "arrived_share": ("arrived %", 1),
    "time_over_ideal": ("time/ideal", 2),
    "path_over_optimal": ("path/optimal", 3),
    "stuck_each_s": ("stuck s", 1),
    "overlaps_each": ("overlaps", 2),
    "steerbench_score": ("score", 0),
    "mean_acceleration_m_s2": ("m/s²", 2),
}


def interval(values: pd.Series) -> tuple[float, float]:
    """Return mean and half the width of its 95 % confidence interval (Student's t);
    nan without two values.
    """
    values = values.dropna()
    if len(values) < 2:
        return (float(values.mean()) if len(values) else math.nan), math.nan
    degrees = len(values) - 1
    t = T_95[degrees - 1] if degrees <= len(T_95) else 1.96 * (1.0 + 1.2 / degrees)
    return float(values.mean()), float(t * values.std(ddof=1) / math.sqrt(len(values)))


def cell(values: pd.Series, digits: int) -> str:
    """Return a mean with its interval, as text."""
    mean, half = interval(values)
    if math.isnan(mean):
        return "-"
    return f"{mean:.{digits}f}" + ("" if math.isnan(half) else f" ± {half:.{digits}f}")


def over_levels(part: pd.DataFrame, measure: str) -> pd.Series:
    """Return the mean over levels of each seed: seeds are what repeats."""
    return part.groupby("seed")[measure].mean()


def short(part: pd.DataFrame) -> str:
    """Return time over ideal, and behind it the share that arrived where it was not everybody."""
    share = part["arrived_share"].mean()
    return cell(part["time_over_ideal"], 2) + ("" if share > 99.95 else f" ({share:.0f} %)")


def everywhere(part: pd.DataFrame) -> list[str]:
    """Return time over ideal in every geometry, and overlaps and accelerations over all of them."""
    own = [short(part_of(part, geometry=where)) for where in GEOMETRIES]
    return [
        *own,
        cell(over_levels(part, "overlaps_each"), 2),
        cell(over_levels(part, "mean_acceleration_m_s2"), 2),
    ]


def models_section(runs: pd.DataFrame) -> str:
    """Every model in every geometry, all levels together."""
    rows = [
        [
            where,
            model,
            *(
                cell(over_levels(part_of(runs, geometry=where, model=model, sets=""), name), digits)
                for name, (_, digits) in MEASURES.items()
            ),
        ]
        for where in GEOMETRIES
        for model in MODELS
    ]
    return markdown_table(("geometry", "model", *(heading for heading, _ in MEASURES.values())), rows)


def densities_section(runs: pd.DataFrame, levels: Sequence[int]) -> str:
    """Time over ideal, level by level."""
    rows = [
        [
            where,
            model,
            *(short(part_of(runs, geometry=where, model=model, sets="", level=level)) for level in levels),
        ]
        for where in GEOMETRIES
        for model in MODELS
    ]
    return markdown_table(("geometry", "model", *(f"level {level}" for level in levels)), rows)


def families_section(runs: pd.DataFrame) -> str:
    """Sampled less geometric, seed by seed on the same starts; bold where the interval does not hold 0."""
    rows = []
    for where in GEOMETRIES:
        cells = []
        for name, (_, digits) in MEASURES.items():
            own = part_of(runs, geometry=where, sets="")
            sampled, geometric = (
                over_levels(own[own["model"].isin(FAMILIES[family])], name)
                for family in ("sampled", "geometric")
            )
            difference = (sampled - geometric).dropna()
            mean, half = interval(difference)
            text = (
                "-"
                if math.isnan(mean)
                else f"{mean:+.{digits}f}" + ("" if math.isnan(half) else f" ± {half:.{digits}f}")
            )
            cells.append(f"**{text}**" if abs(mean) > half else text)
        rows.append([where, "sampled - geometric", *cells])
    return markdown_table(("geometry", "difference", *(heading for heading, _ in MEASURES.values())), rows)


def horizons_section(runs: pd.DataFrame, level: int) -> str:
    """Time over ideal by time horizon."""
    rows = []
    for model in horizon_models():
        for horizon in HORIZONS:
            own = part_of(runs, model=model, sets=" ".join(horizon_sets(model, horizon)), level=level)
            rows.append([model, f"{horizon:g} s", *everywhere(own)])
    return markdown_table(("model", "horizon", *GEOMETRIES, "overlaps", "m/s²"), rows)


def samples_section(runs: pd.DataFrame, level: int) -> str:
    """Sampled hRVO by its number of samples."""
    rows = []
    for samples in SAMPLES:
        own = part_of(runs, model="sampled-hrvo", sets=" ".join(samples_sets(samples)), level=level)
        rows.append(
            [
                "sampled-hrvo",
                "129 x 129" if samples == "sampler=grid" else samples.partition("=")[2],
                *everywhere(own),
            ]
        )
    return markdown_table(("model", "samples", *GEOMETRIES, "overlaps", "m/s²"), rows)


def remedies_section(runs: pd.DataFrame, level: int, seeds: Sequence[int]) -> str:
    """With and without the symmetry breaker and the remedy against retreats."""
    rows = []
    for model in MODELS:
        for sets, name in (("", "on"), (" ".join(NO_REMEDIES), "off")):
            own = part_of(runs, model=model, sets=sets, level=level)
            exact = part_of(own, geometry="circle", seed=0)
            crowds = [
                part_of(own, geometry=where)[lambda part: part["seed"].isin(seeds)] for where in REMEDIES_IN
            ]
            rows.append(
                [
                    model,
                    name,
                    short(exact),
                    *(short(part) for part in crowds),
                    *(cell(part["stuck_each_s"], 1) for part in crowds),
                ]
            )
    return markdown_table(
        ("model", "remedies", "exact circle", *REMEDIES_IN, *(f"{where}, stuck s" for where in REMEDIES_IN)),
        rows,
    )


def cost_scene(model: str, sets: Sequence[str]) -> Scenario:
    """Return two groups that cross, one person a square metre, for a few ticks."""
    side = math.sqrt(0.5 * COST_PEOPLE)
    common = {
        "version": 1,
        "name": "cost",
        "tick": 0.05,
        "seed": 1,
        "avoidance": model,
        "stop": {"after": 0.05 * COST_TICKS},
    }
    ground = {"geometry": {"walkable": {"box": [0, 0, 2 * side + 20, side]}}}
    goals = {
        "east": {"exit": {"box": [2 * side + 19, 0, 2 * side + 20, side]}},
        "west": {"exit": {"box": [0, 0, 1, side]}},
    }
    one, other = [10, 0, 10 + side, side], [10 + side, 0, 10 + 2 * side, side]
    groups = [
        _crowd("eastbound", COST_PEOPLE // 2, one, "east"),
        _crowd("westbound", COST_PEOPLE // 2, other, "west"),
    ]
    return parse_scenario(json.dumps({**common, **ground, "goals": goals, "groups": groups}), sets=sets)


def cost_section() -> str:
    """Microseconds that one choice takes, and that over ORCA's:
    the least of several rounds, in which models take turns.
    """
    chosen = [
        *((model, ()) for model in MODELS),
        *(("sampled-hrvo", sets) for samples in SAMPLES if (sets := samples_sets(samples))),
    ]
    least: dict[tuple[str, tuple[str, ...]], float] = {}
    for _ in range(ROUNDS):
        for model, sets in chosen:
            took = run_scene(cost_scene(model, sets), model).avoid_us_per_agent_tick
            least[model, sets] = min(took, least.get((model, sets), math.inf))
    orca = least["orca", ()]
    rows = [
        [model, " ".join(sets).replace("avoidance.", "") or "as it is", f"{took:.1f}", f"{took / orca:.1f}"]
        for (model, sets), took in least.items()
    ]
    return markdown_table(("model", "numbers", "us a choice*", "over ORCA*"), rows)


# pictures

STYLE = {
    "orca": ("#1f77b4", "-"),
    "clearpath": ("#17becf", "-"),
    "hrvo": ("#2ca02c", "-"),
    "sampled-hrvo": ("#d62728", "--"),
    "toi": ("#ff7f0e", "--"),
}
DRAWN = {
    "arrived_share": "arrived, %",
    "time_over_ideal": "time over ideal",
    "overlaps_each": "overlaps a person",
    "mean_acceleration_m_s2": "acceleration, m/s²",
}


def draw_densities(runs: pd.DataFrame, levels: Sequence[int], out: Path) -> None:
    """Draw measures over levels, a column for each geometry."""
    figure = new_figure(13.0, 9.0)
    grid = figure.subplots(len(DRAWN), len(GEOMETRIES), sharex=True, sharey="row", squeeze=False)
    for column, where in enumerate(GEOMETRIES):
        for line, (measure, label) in enumerate(DRAWN.items()):
            axes = grid[line, column]
            for number, model in enumerate(MODELS):
                part = part_of(runs, geometry=where, model=model, sets="")
                found = [interval(part_of(part, level=level)[measure]) for level in levels]
                # models stand side by side, so that equal ones are seen
                beside = [level + 0.05 * (number - 2) for level in levels]
                colour, dashes = STYLE[model]
                bars = [0.0 if math.isnan(half) else half for _, half in found]
                looks = {
                    "color": colour,
                    "linestyle": dashes,
                    "marker": "o",
                    "markersize": 3,
                    "linewidth": 1.0,
                    "capsize": 2,
                }
                axes.errorbar(beside, [mean for mean, _ in found], yerr=bars, label=model, **looks)
            axes.set_xticks(list(levels))
            if not column:
                axes.set_ylabel(label, fontsize=9)
        grid[0, column].set_title(where, fontsize=10)
        grid[-1, column].set_xlabel("level of crowding", fontsize=9)
    for line, measure in enumerate(DRAWN):
        if measure != "time_over_ideal":
            grid[line, 0].set_ylim(bottom=0.0)
    grid[0, 0].legend(fontsize=7)
    seeds = runs.loc[runs["seed"] > 0, "seed"].nunique()
    figure.suptitle(
        (
            f"Geometric models with unbroken lines, sampled ones with broken lines; means of {seeds} seeds "
            "with 95 % intervals"
        ),
        fontsize=11,
    )
    figure.savefig(out, dpi=85)


def draw_trails(level: int, out: Path) -> None:
    """Draw every model in three geometries, at one level, seed 1."""
    from crowdsim.pictures.models import Panel, draw_models

    panels = []
    for where in TRAILS_IN:
        for model in MODELS:
            scenario, trace = scenario_of(Spec(where, level, model, (), 1)), Trace()
            together: OverSeeds = over_seeds([run_scene(scenario, model, trace=trace)])
            panels.append(Panel(scenario, model, trace, together))
    draw_models(panels, out, dpi=75)


# the page

TABLES = ("models", "densities", "families", "horizons", "samples", "remedies", "cost")


def put_between(page: str, name: str, table: str) -> str:
    """Return a page with a table in place of what stands between the markers of that name.

    Raises
    ------
    SystemExit
        If the page has no such markers.
    """
    first, last = f"<!-- made: {name} -->\n", f"<!-- end: {name} -->"
    if first not in page or last not in page:
        raise SystemExit(
            f'the page has no markers for the table "{name}": it needs the lines "{first.strip()}" and '
            f'"{last}".'
        )
    return page[: page.index(first) + len(first)] + table + "\n" + page[page.index(last) :]


def main() -> None:
    """Run the study, print its tables, write page and pictures."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--seeds", default="1:9", help="as crowdsim sweep takes them; default: 1 to 8")
    parser.add_argument("--levels", type=int, nargs="+", default=list(LEVELS), choices=LEVELS)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--go-on", action="store_true", help="keep the runs that --out holds already")
    parser.add_argument(
        "--minutes", type=float, default=math.inf, help="stop after so long, for --go-on later"
    )
    parser.add_argument("--out", type=Path, default=Path("runs") / "geometric-against-sampled")
    parser.add_argument(
        "--page",
        type=Path,
        help=(
            "page whose tables are made anew, and beside which the pictures are put; without it both are in "
            "--out"
        ),
    )
    asked = parser.parse_args()
    seeds = [seed for seed in seeds_of(asked.seeds) if seed > 0]
    if not seeds:
        raise SystemExit("--seeds: needs a seed above 0; seed 0 is the exact circle.")
    for name in TABLES if asked.page is not None else ():
        # a page without markers is told now, not after all runs
        put_between(asked.page.read_text(encoding="utf-8"), name, "")
    asked.out.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    parts = plan(seeds, asked.levels)
    runs = run_all(
        [spec for part in parts.values() for spec in part],
        asked.out / "runs.jsonl",
        asked.workers,
        go_on=asked.go_on,
        minutes=asked.minutes,
    )
    chosen = parts["samples"][0].level
    crowds = runs[runs["seed"].isin(seeds) & runs["level"].isin(asked.levels)]
    tables = {
        "models": models_section(crowds),
        "densities": densities_section(crowds, asked.levels),
        "families": families_section(crowds),
        "horizons": horizons_section(crowds, chosen),
        "samples": samples_section(crowds, chosen),
        "remedies": remedies_section(runs, chosen, seeds),
        "cost": cost_section(),
    }
    for name, table in tables.items():
        print(f"\n{name}\n{table}")
    beside = asked.out if asked.page is None else asked.page.parent
    draw_densities(crowds, asked.levels, beside / "geometric-against-sampled-densities.png")
    draw_trails(max(asked.levels), beside / "geometric-against-sampled-trails.png")
    if asked.page is not None:
        page = asked.page.read_text(encoding="utf-8")
        for name, table in tables.items():
            page = put_between(page, name, table)
        asked.page.write_text(page, encoding="utf-8")
    print(
        f"\n{len(runs)} runs in {asked.out / 'runs.jsonl'}; pictures in {beside}; "
        f"{time.monotonic() - began:.0f} s"
    )


if __name__ == "__main__":
    main()
