"""The picture of a deadlock: the place, which agents are stuck there and why, and the waiting graph."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.measures.deadlock import name_of
from crowdsim.measures.deadlock_causes import WALL, Diagnosed, Moment, diagnose
from crowdsim.measures.deadlock_recorded import Recorded
from crowdsim.pictures.run import dot_mark, draw_goals, draw_ground, finish, legend_below, panels
from crowdsim.world.events import NOT_DIAGNOSED, Cause

AROUND_M = 2.0  # Ground that is shown round those that are stuck.
LEAST_SIDE_M = 6.0  # Of what is shown, so that one can tell where it is.
MOST_NAMES = 40  # People with their names; more cannot be read.
OTHER, STAYS, OBSTACLE, WAIT, RING = "#b8c0c8", "#6b7280", "#c77d1a", "#444444", "#d62828"
COLOURS = {
    Cause.UNKNOWN: "#000000",
    Cause.NO_PATH: "#7b4fb5",
    Cause.ENCLOSED: "#b5179e",
    Cause.STARVED: "#e0a100",
    Cause.PUSHED_OFF: "#0096c7",
    Cause.GOAL_OCCUPIED: "#2a9d5c",
    Cause.THROUGH_PEOPLE: "#8d6e63",
    Cause.HEAD_ON: "#d62828",
    Cause.ARCH: "#f3722c",
    Cause.INFEASIBLE: "#3a5ba0",
    Cause.OBSTACLE: "#c77d1a",
    Cause.QUEUE: "#9ccc65",
}


def draw_deadlocks(recorded: Recorded, out: Path, time_s: float, *, dpi: int = 130) -> None:
    """Draw the agents that are stuck at one moment of a run, and write it as a picture.

    Discs are agents, coloured by why they are stuck; grey ones are not stuck, dark grey ones stay. Arrows
    lead from waiting agents to those that they wait for before others, red within rings of agents that wait
    for each other; thin ones are the other edges of the graph. A dashed line is a gap, with its width.

    Parameters
    ----------
    recorded : Recorded
    out : Path
        Its ending says in which form: png, svg or pdf.
    time_s : float, s
        The last frame that is not later.
    dpi : int
        Dots an inch of a PNG; the longer side is 10 inches.

    Raises
    ------
    CrowdsimError
        If matplotlib is not installed.
    """
    moment = recorded.moment(max(0, recorded.frame_at(int(np.floor(time_s / recorded.tick_s + 1e-9)))))
    found = diagnose(moment)
    floors = sorted(set(moment.layer[moment.is_stuck].tolist())) or [0]
    low, high = _window(moment)
    figure, all_axes = panels(len(floors), (*low, *high))
    grounds = recorded.grounds(moment.tick)
    for axes, floor in zip(all_axes, floors, strict=True):
        draw_ground(axes, grounds[floor])
        draw_goals(
            axes,
            [
                goal if goal.layer in (-1, floor) and not goal.is_inline else None
                for goal in recorded.scenario.goals
            ],
            {},
        )
        here = np.flatnonzero(moment.layer == floor)
        _draw_bodies(axes, moment, found, here)
        _draw_waits(axes, moment, found, here)
        _draw_gaps(axes, found, here)
        _draw_names(axes, recorded, moment, here)
        axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
        if len(floors) > 1:
            axes.set_title(recorded.scenario.geometry.floor_names[floor], fontsize=9)
    _draw_legend(all_axes[0], moment, found)
    stuck = int(np.count_nonzero(moment.is_stuck))
    title = f"{recorded.recording.header.name}  |  {moment.tick * moment.tick_length:g} s  |  {stuck:,} stuck"
    finish(figure, None if len(floors) > 1 else all_axes[0], title, out, dpi=dpi)


def _window(moment: Moment) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the two corners of what is shown, (2,) m each:
    the place of those that are stuck and what is round it; everything where none is.
    """
    rows = moment.is_stuck if np.any(moment.is_stuck) else np.ones(len(moment.entity), dtype=np.bool_)
    places = moment.position[rows] if len(moment.entity) else np.zeros((1, 2))
    low, high = places.min(axis=0) - AROUND_M, places.max(axis=0) + AROUND_M
    more = np.maximum(0.0, LEAST_SIDE_M - (high - low)) / 2.0
    return low - more, high + more


def _draw_bodies(axes: Any, moment: Moment, found: Diagnosed, rows: NDArray[np.int64]) -> None:
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Circle

    stays = moment.stays
    discs, colours = [], []
    for row in rows.tolist():
        discs.append(Circle(moment.position[row], moment.radius[row]))
        if found.cause[row] != NOT_DIAGNOSED:
            colours.append(COLOURS[Cause(int(found.cause[row]))])
        else:
            colours.append(OBSTACLE if moment.is_obstacle[row] else STAYS if stays[row] else OTHER)
    edges = ["black" if found.is_head[row] else "none" for row in rows.tolist()]
    axes.add_collection(
        PatchCollection(discs, facecolors=colours, edgecolors=edges, linewidths=1.6, alpha=0.85, zorder=4)
    )


def _draw_waits(axes: Any, moment: Moment, found: Diagnosed, rows: NDArray[np.int64]) -> None:
    inside = np.zeros(len(moment.entity), dtype=np.bool_)
    inside[rows] = True
    style = {"arrowstyle": "-|>", "shrinkA": 0, "shrinkB": 0, "mutation_scale": 9}
    for source, target in zip(found.waits.source.tolist(), found.waits.target.tolist(), strict=True):
        if not (inside[source] and inside[target]):
            continue
        is_first = found.waits_for[source] == moment.entity[target]
        in_ring = found.ring[source] != 0 and found.ring[source] == found.ring[target]
        colour = RING if in_ring else WAIT
        arrow = {
            **style,
            "color": colour,
            "linewidth": 1.8 if is_first else 0.5,
            "alpha": 1.0 if is_first else 0.6,
            "connectionstyle": "arc3,rad=0.12",
        }
        axes.annotate(
            "", xy=moment.position[target], xytext=moment.position[source], arrowprops=arrow, zorder=6
        )
    for row in rows[found.waits_for[rows] == WALL].tolist():
        to = moment.next_corner[row] - moment.position[row]
        length = max(float(np.hypot(*to)), 1e-9)
        end = moment.position[row] + to / length * (moment.radius[row] + 0.3)
        axes.annotate(
            "",
            xy=end,
            xytext=moment.position[row],
            arrowprops={**style, "color": WAIT, "linewidth": 1.4, "linestyle": "--"},
            zorder=6,
        )


def _draw_gaps(axes: Any, found: Diagnosed, rows: NDArray[np.int64]) -> None:
    drawn = set()
    for row in rows.tolist():
        gap = found.gap[row]
        if gap is None or (key := (*gap.a.round(3).tolist(), *gap.b.round(3).tolist())) in drawn:
            continue
        drawn.add(key)
        axes.plot([gap.a[0], gap.b[0]], [gap.a[1], gap.b[1]], "--", color=RING, linewidth=1.6, zorder=5)
        axes.annotate(
            f"{gap.width:.2f} m",
            0.5 * (gap.a + gap.b),
            xytext=(5, 3),
            textcoords="offset points",
            fontsize=8,
            color=RING,
            zorder=7,
        )


def _draw_names(axes: Any, recorded: Recorded, moment: Moment, rows: NDArray[np.int64]) -> None:
    named = rows[moment.is_stuck[rows]]
    if len(named) > MOST_NAMES:
        return
    for row in named.tolist():
        place = moment.position[row] + (0.0, moment.radius[row])
        axes.annotate(
            name_of(recorded, int(moment.entity[row])),
            place,
            xytext=(0, 2),
            textcoords="offset points",
            ha="center",
            fontsize=7,
            zorder=7,
        )


def _draw_legend(axes: Any, moment: Moment, found: Diagnosed) -> None:
    causes, counts = np.unique(found.cause[moment.is_stuck], return_counts=True)
    marks = [
        dot_mark(f"{Cause(cause).words}: {count:,}", COLOURS[Cause(cause)])
        for cause, count in zip(causes.tolist(), counts.tolist(), strict=True)
    ]
    others = ~moment.is_stuck & ~moment.is_obstacle
    for rows, colour, words in (
        (others & ~moment.stays, OTHER, "walking or waiting"),
        (others & moment.stays, STAYS, "staying"),
    ):
        if count := int(np.count_nonzero(rows)):
            marks.append(dot_mark(f"{words}: {count:,}", colour))
    legend_below(axes, marks)
