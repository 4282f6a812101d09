"""One scene under several models, side by side:
the trails of all agents, where they overlapped and where one got stuck, and the figures under each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from crowdsim.comparison.comparison import OverSeeds, spread_text
from crowdsim.comparison.counts import Trace
from crowdsim.pictures.run import (
    EXIT,
    STUCK,
    add_lines,
    draw_goals,
    draw_ground,
    draw_obstacles,
    new_figure,
    save,
)
from crowdsim.scenario.model import Scenario
from crowdsim.scenario.plan_in_time import plan_in_time

OVERLAP = "#7b2cbf"
PANEL_INCHES = 3.4  # The longer side of a panel: six of them are as wide as a page on a screen.
LONG = 4.0  # Scenes so many times as wide as high are put below each other,
LONG_INCHES = 7.0  # and are so wide.
TEXT_INCHES = 0.95  # Room for the figures under a panel.
MOST_INCHES = 60.0  # Of a picture: matplotlib refuses more than 65,535 dots.


@dataclass(frozen=True)
class Panel:
    """One scene under one model.

    Attributes
    ----------
    scenario : Scenario
    model : str
    trace : Trace
        Of one run.
    runs : OverSeeds
        The figures below it.
    """

    scenario: Scenario
    model: str
    trace: Trace
    runs: OverSeeds


def draw_models(panels: Sequence[Panel], out: Path, *, form: str | None = None, dpi: int = 130) -> None:
    """Draw panels and write them as a picture:
    a column for each model, a row for each scene, and for each of its floors where it has several.

    Where all are long corridors, it is a row for each model.

    Parameters
    ----------
    panels : sequence of Panel
        Of each scene the same models.
    out : Path
    form : str, optional
        png, svg or pdf; without it as the name ends.
    dpi : int
        Dots an inch of a PNG.

    Raises
    ------
    CrowdsimError
        If matplotlib is not installed.
    """
    models = list(dict.fromkeys(panel.model for panel in panels))
    scenes = [panels[first : first + len(models)] for first in range(0, len(panels), len(models))]
    rows = [(row, layer) for row in scenes for layer in range(len(row[0].scenario.geometry.grounds))]
    bounds = [row[0].scenario.geometry.grounds[layer].bounds for row, layer in rows]
    # corridors: below each other, a column for each scene
    is_long = all(right - left > LONG * (top - bottom) for left, bottom, right, top in bounds)
    sizes = [_size(each, LONG_INCHES if is_long else PANEL_INCHES) for each in bounds]
    widths = [size[0] for size in sizes] if is_long else [max(size[0] for size in sizes)] * len(models)
    heights = [
        size[1] + TEXT_INCHES
        for size in ([max(sizes, key=lambda size: size[1])] * len(models) if is_long else sizes)
    ]
    shrink = min(1.0, MOST_INCHES / sum(widths), MOST_INCHES / sum(heights))
    figure = new_figure(shrink * sum(widths), shrink * (sum(heights) + 0.4))
    grid = figure.subplots(
        len(heights), len(widths), squeeze=False, height_ratios=heights, width_ratios=widths
    )
    for (row, layer), line in zip(rows, grid.T if is_long else grid, strict=True):
        for panel, axes in zip(row, line, strict=True):
            _draw_panel(axes, panel, layer)
    for axes in grid[:, 0]:
        axes.set_ylabel("y (m)", fontsize=8)
    count, firsts = len(panels[0].runs.seeds), dict.fromkeys(str(panel.runs.seeds[0]) for panel in panels)
    trails = f"trails of seed {', '.join(firsts)}" + (
        f"\nfigures of {count} seeds (mean ± standard deviation)" if count > 1 else ""
    )
    figure.legend(
        handles=_marks(),
        loc="outside lower center",
        ncols=2 if sum(widths) > 5.0 else 1,
        fontsize=8,
        frameon=False,
    )
    figure.suptitle(trails, x=0.01, ha="left", fontsize=9)
    save(figure, out, form=form, dpi=dpi)


def _size(bounds: Sequence[float], inches: float) -> tuple[float, float]:
    """Return the width and height of a panel; long corridors get some height, for their axes."""
    width, height = bounds[2] - bounds[0], bounds[3] - bounds[1]
    longest = max(width, height)
    return max(2.2, inches * width / longest), max(0.4, inches * height / longest)


def _marks() -> list[Any]:
    from matplotlib.lines import Line2D

    return [
        Line2D(
            [],
            [],
            marker="o",
            linestyle="none",
            markerfacecolor="none",
            markeredgecolor=STUCK,
            markersize=6,
            label="got stuck here",
        ),
        Line2D(
            [],
            [],
            marker="x",
            linestyle="none",
            color=OVERLAP,
            markersize=5,
            label="agents deeper than 1 cm in each other",
        ),
    ]


def _draw_panel(axes: Any, panel: Panel, layer: int) -> None:
    geometry, trace = panel.scenario.geometry, panel.trace
    draw_ground(axes, plan_in_time(geometry).grounds[layer])
    _draw_exits(axes, panel.scenario, layer)
    draw_obstacles(axes, panel.scenario.obstacles, trace.last_tick, layer if geometry.floors else -1)
    _draw_trails(axes, trace, layer)
    overlaps, stuck = (places[places[:, 2] == layer] for places in (trace.overlaps, trace.stuck))
    axes.plot(
        overlaps[:, 0],
        overlaps[:, 1],
        "x",
        color=OVERLAP,
        markersize=3,
        markeredgewidth=0.7,
        alpha=0.7,
        zorder=5,
        gid="overlaps",
    )
    axes.plot(
        stuck[:, 0],
        stuck[:, 1],
        "o",
        markerfacecolor="none",
        markeredgecolor=STUCK,
        markersize=5,
        markeredgewidth=0.8,
        zorder=6,
        gid="stuck",
    )
    floor = f", {geometry.floors[layer].name}" if geometry.floors else ""
    axes.set_title(f"{panel.scenario.name}{floor}: {panel.model}", fontsize=9)
    axes.set_ylabel("")
    axes.tick_params(labelsize=7)
    axes.set_xlabel(
        figures(panel.runs) if layer == len(geometry.grounds) - 1 else "", fontsize=7, linespacing=1.4
    )


def figures(runs: OverSeeds) -> str:
    """Return the figures that stand under a panel: three lines."""
    if runs.failed:
        return f"broke a promise: {runs.failed[:60]}"
    return (
        f"{runs.arrived:,} of {runs.agents:,} arrived, time/ideal {spread_text(runs, 'time_over_ideal', 2)}\n"
        f"path/optimal {spread_text(runs, 'path_over_optimal', 3)}, stuck "
        f"{spread_text(runs, 'stuck_agent_s', 0)} s\n"
        f"overlaps {spread_text(runs, 'overlaps', 1)}, {100.0 * runs.deepest_overlap_m:.1f} cm, score "
        f"{spread_text(runs, 'steerbench_score', 0)}"
    )


def _draw_exits(axes: Any, scenario: Scenario, layer: int) -> None:
    """Draw exits and regions with their names, without counts, which stand below;
    single points would hide what happens there.
    """
    draw_goals(
        axes,
        [goal if goal.layer in (-1, layer) and goal.area is not None else None for goal in scenario.goals],
        {},
    )
    for text in axes.texts:
        text.set_text(text.get_text().removesuffix(" 0"))
        text.set_fontsize(6)
    points = np.array(
        [goal.point for goal in scenario.goals if goal.point is not None and goal.layer in (-1, layer)]
    ).reshape(-1, 2)
    axes.plot(points[:, 0], points[:, 1], "s", color=EXIT, markersize=3, alpha=0.5, zorder=1.5)


def _draw_trails(axes: Any, trace: Trace, layer: int) -> None:
    """Draw trails in the colours of their groups, or of one group each in its own, the same in every panel,
    with a dot where each begins.
    """
    import matplotlib as mpl

    if len(trace.groups) == 1:
        shades: list[Any] = list(mpl.colormaps["hsv"](np.linspace(0.0, 0.94, len(trace.group))))
    else:
        palette = [entry["color"] for entry in mpl.rcParams["axes.prop_cycle"]]
        shades = [palette[group % len(palette)] for group in trace.group.tolist()]
    places = np.where((trace.layers == layer)[:, :, None], trace.trails, np.nan)
    lines, colours = [], []
    for number in range(places.shape[1]):
        for part in _unbroken(places[:, number]):
            lines.append(part)
            colours.append(shades[number])
    add_lines(axes, lines, colors=colours, linewidths=0.6, alpha=0.55, zorder=2)
    if len(places):
        axes.plot(places[0, :, 0], places[0, :, 1], ".", color="#00000055", markersize=2.5, zorder=3)


def _unbroken(places: Any) -> list[Any]:
    """Return the parts of a trail of at least two places in which an agent was there all the time."""
    there = ~np.isnan(places[:, 0])
    parts = np.split(np.arange(len(places)), np.flatnonzero(np.diff(there)) + 1) if len(places) else []
    return [places[part] for part in parts if len(part) > 1 and there[part[0]]]
