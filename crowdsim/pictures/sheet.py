"""A sheet of panels about one run: trails on the plan, densities, how many have arrived by group,
how fast people were, and what the ticks cost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

from crowdsim.errors import CrowdsimError
from crowdsim.pictures.budget import draw_budget_in
from crowdsim.pictures.framing import Bounds, bounds_of, grounds_within, look_at
from crowdsim.pictures.looked_through import Density, Speeds, look_through
from crowdsim.pictures.run import (
    colours_of,
    dashes_of,
    draw_goals,
    draw_ground,
    draw_trails,
    draw_walls,
    name_floor,
    new_figure,
    panels_in,
    panels_size,
    save,
    title_of,
)
from crowdsim.recording.reader import Recording
from crowdsim.scenario.load import scenario_of_run
from crowdsim.scenario.model import Scenario
from crowdsim.scenario.plan_in_time import plan_in_time

MOST_GROUPS = 12  # With a line of their own, the largest; more cannot be told apart. The others are one line.
ALL, OTHERS = "all agents", "other groups"


def arrivals_by_group(recording: Recording) -> pd.DataFrame:
    """Return how many of each group had arrived by when.

    Parameters
    ----------
    recording : Recording

    Returns
    -------
    DataFrame
        time_s (s), group, arrived, of: one row for each group at the begin, whenever one of it arrived, and
        at the end. An agent with several goals has arrived at the last that was reached, as in
        `crowdsim.measures.evacuation_curve`. Beside the groups there is ``all agents`` where there are
        several.
    """
    roster, events = recording.roster(), recording.events()
    end = recording.commit.last_tick * recording.header.tick_s
    sizes = roster["group_name"].value_counts()
    named = list(dict.fromkeys(roster["group_name"]))
    if len(named) > MOST_GROUPS:
        largest = set(sizes.index[: MOST_GROUPS - 1])
        roster = roster.assign(
            group_name=roster["group_name"].where(roster["group_name"].isin(largest), OTHERS)
        )
        named = [*(name for name in named if name in largest), OTHERS]
        sizes = roster["group_name"].value_counts()
    last = events[events["kind"] == "ARRIVAL"].drop_duplicates("entity", keep="last")
    group = last["entity"].map(dict(zip(roster["entity"], roster["group_name"], strict=True)))
    time_s = last["tick"].to_numpy() * recording.header.tick_s
    lines = [(name, np.sort(time_s[(group == name).to_numpy()]), int(sizes[name])) for name in named]
    if len(named) > 1:
        lines.append((ALL, np.sort(time_s), len(roster)))
    parts = []
    for name, times, size in lines:
        moments, counts = np.unique(times, return_counts=True)
        columns = {
            "time_s": np.concatenate([[0.0], moments, [end]]),
            "group": name,
            "arrived": np.concatenate([[0], np.cumsum(counts), [len(times)]]),
            "of": size,
        }
        parts.append(pd.DataFrame(columns))
    return (
        pd.concat(parts, ignore_index=True)
        if parts
        else pd.DataFrame(columns=["time_s", "group", "arrived", "of"])
    )


def draw_arrivals(axes: Any, recording: Recording) -> None:
    """Draw how many had arrived by when, each group as a line of steps;
    the legend says how many of how many did in the end.
    """
    table = arrivals_by_group(recording)
    names = list(dict.fromkeys(table["group"]))
    colours, dashes = colours_of(name for name in names if name != ALL), dashes_of(names)
    for name, part in table.groupby("group", sort=False):
        label = f"{name}: {part['arrived'].iloc[-1]:,} of {part['of'].iloc[-1]:,}"
        look = (
            {"color": "black", "linewidth": 2.2}
            if name == ALL
            else {"color": colours[str(name)], "linewidth": 1.6}
        )
        axes.step(
            part["time_s"], part["arrived"], where="post", linestyle=dashes[str(name)], label=label, **look
        )
    axes.set(xlabel="simulated time (s)", ylabel="arrived (people)", ylim=(0, None))
    axes.margins(x=0.01)
    axes.set_title("arrivals", fontsize=10)
    axes.grid(alpha=0.25)
    if names:
        axes.legend(fontsize=8, loc="upper left" if len(names) > 4 else "lower right")


def draw_speeds(axes: Any, speeds: Speeds) -> None:
    """Draw speeds over time: the median, the middle half and the middle eight tenths of people,
    and how many there are on an axis of its own.
    """
    blue = colours_of(["speeds"])["speeds"]
    if not len(speeds.time_s):
        axes.text(
            0.5,
            0.5,
            "nobody was there long enough to have a speed",
            ha="center",
            va="center",
            transform=axes.transAxes,
        )
    axes.fill_between(
        speeds.time_s,
        speeds.quantiles[:, 0],
        speeds.quantiles[:, 4],
        color=blue,
        alpha=0.15,
        linewidth=0,
        label="10 to 90 %",
    )
    axes.fill_between(
        speeds.time_s,
        speeds.quantiles[:, 1],
        speeds.quantiles[:, 3],
        color=blue,
        alpha=0.30,
        linewidth=0,
        label="25 to 75 %",
    )
    axes.plot(speeds.time_s, speeds.quantiles[:, 2], color=blue, linewidth=1.6, label="median")
    axes.plot(speeds.time_s, speeds.mean, color="#D55E00", linewidth=1.2, linestyle="--", label="mean")
    axes.set(xlabel="simulated time (s)", ylabel="speed (m/s)", ylim=(0.0, None))
    axes.margins(x=0.01)
    axes.grid(alpha=0.25)
    axes.set_title(f"speeds, over {speeds.over_s:.2g} s each", fontsize=10)
    many = axes.twinx()
    many.plot(speeds.time_s, speeds.people, color="#777777", linewidth=1.0, linestyle=":", label="people")
    many.set_ylabel("people", color="#555555")
    many.set_ylim(bottom=0)
    axes.plot([], [], color="#777777", linewidth=1.0, linestyle=":", label="people (right)")
    axes.legend(fontsize=8, loc="lower left", ncols=2)


PANELS = ("trails", "density", "curve", "speeds", "budget")
ON_THE_PLAN = ("trails", "density")
WIDTH = 12.0  # Inches of a sheet; 1,560 pixels at 130 dots an inch.
HIGHEST = 1.41 * WIDTH  # Inches: a sheet of A4 upright, which a screen shows without scrolling for long.
CHART, BUDGET = 3.6, 4.6  # Inches: heights of the charts.
HEAD = 0.4  # Inches: of a floor, for its name and the numbers below.
LEAST_ROW = 3.0  # Inches: of a plan with however many floors.
# 1/m2: the scale of densities reaches at least so far, so that an empty hall does not look crowded.
LEAST_SCALE = 1.0
CROWDED = 4.0  # 1/m2: from here on a line is drawn round; agents of 0.2 m radius that touch are at some 6.


def panels_from(text: str) -> tuple[str, ...]:
    """Return the panels that a text like ``trails,curve`` names, in its order, each once;
    ``all`` are all of them.

    Raises
    ------
    CrowdsimError
        If one is not known, or none is named.
    """
    names = [name for part in text.split(",") if (name := part.strip())]
    unknown = [name for name in names if name not in (*PANELS, "all")]
    if unknown or not names:
        said = f'--show names "{unknown[0]}"' if unknown else "--show names nothing"
        raise CrowdsimError(f"{said}, but of a recording there are {', '.join(PANELS)}, and all.")
    return PANELS if "all" in names else tuple(dict.fromkeys(names))


def draw_sheet(
    recording: Recording,
    out: Path,
    shown: Sequence[str] = PANELS,
    *,
    form: str | None = None,
    dpi: int = 130,
    note: Callable[[str], None] = lambda _: None,
) -> None:
    """Draw panels of a recording and write them as one picture.

    Parameters
    ----------
    recording : Recording
    out : Path
    shown : sequence of str
        Of `PANELS`: ``trails`` on the plan with exits and stuck agents; ``density``, the highest classic
        density over 5 s at each place (people in the square metre round it over what of that is ground);
        ``curve``, how many of each group had arrived by when; ``speeds`` over time with their spread;
        ``budget``, what each system took in each tick.
    form : str, optional
        png, svg or pdf; without it as the name ends.
    dpi : int
        Dots an inch of a PNG.
    note : callable
        Gets what goes on, as words.

    Raises
    ------
    CrowdsimError
        If matplotlib is not installed.

    Notes
    -----
    The recording is read once, frame by frame: memory does not grow with its length. 10,000 people in 2,000
    frames take some ten seconds.
    """
    scenario = scenario_of_run(recording.header, str(recording.path))
    geometry = scenario.geometry
    bounds = bounds_of(recording, geometry)
    plans, charts = (
        [name for name in shown if name in ON_THE_PLAN],
        [name for name in shown if name in ("curve", "speeds")],
    )
    rows = [(charts, CHART)] if charts else []
    rows += [(["budget"], BUDGET)] if "budget" in shown else []
    room = HIGHEST - sum(each for _, each in rows) - 0.4
    beside, across, each_row = _plan_rows(len(plans), len(geometry.grounds), bounds, room)
    rows = [(row, each_row) for row in ([plans] if beside else [[name] for name in plans])] + rows
    figure = new_figure(WIDTH, sum(each for _, each in rows) + 0.4)
    seen = look_through(recording, shown, grounds_within(plan_in_time(geometry).grounds, bounds), note)
    note("drawing")
    parts = np.atleast_1d(figure.subfigures(len(rows), 1, height_ratios=[each for _, each in rows]))
    notes: list[str] = []
    for part, (names, _) in zip(parts, rows, strict=True):
        for place, name in zip(np.atleast_1d(part.subfigures(1, len(names))), names, strict=True):
            notes += _draw_panel(place, name, recording, scenario, seen, across, bounds)
    figure.suptitle("  |  ".join([title_of(recording), *notes]), fontsize=11)
    save(figure, out, form=form, dpi=dpi)


def _plan_rows(plans: int, floors: int, bounds: Sequence[float], room: float) -> tuple[bool, int, float]:
    """Return whether two plans stand side by side, how many floors do in each, and the height of a row of
    plans, inches.

    One floor has the width of the sheet, or half of it. Several are as large as they can be so that all rows
    of plans have room; where they have none however small, they share what there is.

    Parameters
    ----------
    plans, floors : int
    bounds : (x_min, y_min, x_max, y_max), m
    room : float, inches
        Height that is left for plans.
    """
    if floors == 1:
        width, height = panels_size(1, bounds)
        beside = plans == 2 and height > 0.62 * width
        return beside, 1, min(1.6 * WIDTH, WIDTH / (1 + beside) * height / width)
    ratio = (bounds[3] - bounds[1]) / (bounds[2] - bounds[0])
    found = []
    for beside in {False, plans == 2}:
        for across in range(1, floors + 1):
            panel = WIDTH / (1 + beside) / across
            row = -(-floors // across) * (panel * ratio + HEAD)
            found.append((row * (1 if beside else plans) <= room, panel, -row, beside, across))
    fits, _, row, beside, across = (
        max(found) if any(each[0] for each in found) else max(found, key=lambda each: each[2])
    )
    rows = 1 if beside else max(1, plans)
    return beside, across, -row if fits else max(LEAST_ROW, room / rows)


def _draw_panel(
    part: Any,
    name: str,
    recording: Recording,
    scenario: Scenario,
    seen: SimpleNamespace,
    across: int,
    bounds: Bounds,
) -> list[str]:
    """Draw one panel into a part of the figure, with so many floors side by side, of plans a part;
    return what the title is to say.
    """
    geometry = scenario.geometry
    if name == "budget":
        if not recording.commit.ticks or not recording.layout.systems:
            what = "what systems took was not recorded" if recording.commit.ticks else "no tick was recorded"
            part.text(0.5, 0.5, what, ha="center")
            return []
        own = recording.header.parameters.get("budget.milliseconds")
        draw_budget_in(part, recording, float(own) if isinstance(own, (int, float)) else None)
    elif name == "curve":
        draw_arrivals(part.subplots(), recording)
    elif name == "speeds":
        draw_speeds(part.subplots(), seen.speeds)
    else:
        all_axes = panels_in(part, len(geometry.grounds), bounds, across)
        notes = []
        if name == "trails":
            notes = draw_trails(all_axes, recording, scenario, seen.trails)
        else:
            _draw_density(part, all_axes, scenario, seen.density)
        look_at(all_axes, bounds, geometry)
        for axes in all_axes:
            axes.label_outer()
        return notes
    return []


def _draw_density(part: Any, all_axes: Sequence[Any], scenario: Scenario, density: Density) -> None:
    """Draw densities on each floor to one scale."""
    known = density.highest[np.isfinite(density.highest)]
    most = max(LEAST_SCALE, float(np.quantile(known, 0.999)) if len(known) else 0.0)
    image = None
    grounds = plan_in_time(scenario.geometry).grounds
    for layer, (axes, ground) in enumerate(zip(all_axes, grounds, strict=True)):
        draw_ground(axes, ground)
        draw_goals(
            axes, [goal if goal.layer in (-1, layer) else None for goal in scenario.goals], {}, named=False
        )
        # where nobody ever was, the plan shows
        values = np.where(density.highest[layer] > 0.0, density.highest[layer], np.nan)
        image = axes.pcolormesh(
            density.x,
            density.y,
            values,
            cmap="viridis_r",
            vmin=0.0,
            vmax=most,
            zorder=1,
            rasterized=True,
            linewidth=0,
        )
        if np.nanmax(values, initial=0.0) > CROWDED:
            centres = 0.5 * (density.x[1:] + density.x[:-1]), 0.5 * (density.y[1:] + density.y[:-1])
            axes.contour(
                *centres, np.nan_to_num(values), levels=[CROWDED], colors="#D55E00", linewidths=1.0, zorder=2
            )
        draw_walls(axes, ground)  # once more, over the colours
        name_floor(axes, scenario.geometry, layer)
    words = (
        f"classic density (people/m²): highest mean over {density.over_s:g} s in {density.square_m:.2g} m x "
        f"{density.square_m:.2g} m"
    )
    part.colorbar(
        image,
        ax=list(all_axes),
        shrink=0.8,
        label=words if len(words) < 60 else words.replace(": ", ":\n"),
        extend="max",
        pad=0.01,
    )
