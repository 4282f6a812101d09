"""The picture of one choice: the plane of velocities with what forbade them, what was tried,
what was wanted and what was taken.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.avoidance.explain import Reason
from crowdsim.pictures.run import new_figure, save
from crowdsim.recording.explained import ExplainedChoice, choice_at
from crowdsim.recording.reader import Recording
from crowdsim.scenario.load import parse_scenario

INCHES = 8.0
ROOM = 1.12  # Half the picture's width, in maximum speeds.
AGENT, WALL, CHOSEN, WISH, DISC = "#c1443c", "#5b6470", "#111111", "#1f6fb2", "#222222"
BINDS_WIDTH, WIDTH = 2.6, 0.9


def draw_velocities(
    recording: Recording, agent: str, time_s: float, out: Path, *, form: str | None = None, dpi: int = 130
) -> None:
    """Draw why an agent chose its velocity.

    Parameters
    ----------
    recording : Recording
        With explanations of the agent.
    agent : str
        As `choice_at` takes it.
    time_s : float, s
        When the tick ended for which it chose.
    out : Path
    form : str, optional
        png, svg or pdf; without it as the name ends.
    dpi : int
        Dots an inch of a PNG.

    Raises
    ------
    CrowdsimError
        If there is no such choice, or matplotlib is not installed.
    """
    choice = choice_at(recording, agent, time_s)
    wide = 1.2 if len(_rows(choice, Reason.SAMPLE)) else 1.0  # room for the colours' scale
    figure = new_figure(wide * INCHES, INCHES)
    axes = figure.subplots()
    half = ROOM * choice.maximum_speed
    _draw_obstacles(axes, choice, half)
    _draw_half_planes(axes, choice, half)
    _draw_candidates(axes, choice)
    _draw_samples(figure, axes, choice)
    _draw_ends(axes, choice)
    axes.set(xlim=(-half, half), ylim=(-half, half), aspect="equal")
    axes.set(xlabel="velocity along x (m/s)", ylabel="velocity along y (m/s)")
    shown = f"{choice.label} of {choice.group}" if choice.group not in choice.label else choice.label
    axes.set_title(
        (
            f"{recording.header.name}  |  {shown}, {_model(recording, choice)}, tick {choice.tick} "
            f"({choice.time_s:g} s)"
        ),
        fontsize=10,
    )
    axes.legend(fontsize=8, loc="upper left", markerscale=0.7)
    save(figure, out, form=form, dpi=dpi)


def _model(recording: Recording, choice: ExplainedChoice) -> str:
    """Return the name of the agent's avoidance model."""
    scenario = parse_scenario(recording.header.scenario, file=str(recording.path))
    return next(
        (scenario.model_of(group).name for group in scenario.groups if group.name == choice.group),
        scenario.avoidance.name,
    )


def _rows(choice: ExplainedChoice, *kinds: Reason) -> NDArray[Any]:
    return choice.reasons[np.isin(choice.reasons["kind"], kinds)]


def clipped(
    polygon: NDArray[np.float64], point: NDArray[np.float64], normal: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the part of a convex polygon that lies behind a line: where ``(v - point) . normal <= 0``.

    Parameters
    ----------
    polygon : (k, 2)
    point, normal : (2,)
    """
    depth = (polygon - point) @ normal
    corners = []
    for here, there, inside, other in zip(
        polygon, np.roll(polygon, -1, axis=0), depth, np.roll(depth, -1), strict=True
    ):
        if inside <= 0.0:
            corners.append(here)
        if (inside < 0.0 < other) or (other < 0.0 < inside):
            corners.append(here + (there - here) * (inside / (inside - other)))
    return np.array(corners).reshape(-1, 2)


def forbidden_by(obstacle: NDArray[Any], tips: NDArray[Any], half: float) -> NDArray[np.float64]:
    """Return the corners of what an obstacle forbids within the square of half the width `half`, (k,
    2) in m/s.

    Parameters
    ----------
    obstacle : one row of kind OBSTACLE
    tips : rows of kind TIP that belong to it
    half : float, m/s
    """
    area = half * np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
    apex = np.array([obstacle["x"], obstacle["y"]])
    for normal in ((-obstacle["a_y"], obstacle["a_x"]), (obstacle["b_y"], -obstacle["b_x"])):
        area = clipped(area, apex, np.array(normal))
    for tip in tips:
        area = clipped(area, np.array([tip["x"], tip["y"]]), np.array([tip["a_x"], tip["a_y"]]))
    return area


def _draw_obstacles(axes: Any, choice: ExplainedChoice, half: float) -> None:
    from matplotlib.patches import Polygon

    rows = _rows(choice, Reason.OBSTACLE, Reason.TIP)
    legend: dict[str, Any] = {}
    # nothing was permitted: half-planes took the place of the obstacles
    hollow = bool(len(_rows(choice, Reason.HALF_PLANE)))
    for part in np.split(rows, np.flatnonzero(rows["kind"] == Reason.OBSTACLE))[1:]:
        obstacle = part[0]
        area = forbidden_by(obstacle, part[1:], half)
        if len(area) < 3:
            continue
        colour, gave_way = (WALL if obstacle["other"] < 0 else AGENT), obstacle["value"] == 0.0
        binds = bool(obstacle["binds"])
        name = (
            "gave way"
            if gave_way or hollow
            else "forbidden by a wall"
            if obstacle["other"] < 0
            else "forbidden by an agent"
        )
        patch = Polygon(
            area,
            closed=True,
            facecolor="none" if gave_way or hollow else (colour, 0.16),
            edgecolor=colour,
            linewidth=BINDS_WIDTH if binds else WIDTH,
            linestyle=":" if gave_way or hollow else "-",
            zorder=2 if binds else 1,
        )
        axes.add_patch(patch)
        legend.setdefault(name, patch)
        if not hollow:
            _name(axes, choice, int(obstacle["other"]), area.mean(axis=0), colour)
    for name, patch in legend.items():
        axes.plot(
            [], [], color=patch.get_edgecolor(), linestyle=patch.get_linestyle(), linewidth=2, label=name
        )


def _draw_half_planes(axes: Any, choice: ExplainedChoice, half: float) -> None:
    from matplotlib.patches import Polygon

    named = set()
    for plane in _rows(choice, Reason.HALF_PLANE):
        point, normal = np.array([plane["x"], plane["y"]]), np.array([plane["a_x"], plane["a_y"]])
        is_wall, binds = plane["other"] < 0, bool(plane["binds"])
        colour, name = (WALL, "half-plane of a wall") if is_wall else (AGENT, "half-plane of an agent")
        square = half * np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
        forbidden = clipped(square, point, normal)
        if len(forbidden) >= 3:
            axes.add_patch(
                Polygon(forbidden, closed=True, facecolor=(colour, 0.05), edgecolor="none", zorder=1)
            )
        along = np.array([-normal[1], normal[0]]) * 4.0 * half
        line = np.array([point - along, point + along])
        axes.plot(
            *line.T,
            color=colour,
            linewidth=BINDS_WIDTH if binds else WIDTH,
            label=None if name in named else name,
            zorder=3 if binds else 2,
        )
        named.add(name)
        if np.hypot(*point) < choice.maximum_speed:
            _name(axes, choice, int(plane["other"]), point - normal * 0.04 * half, colour)


def _draw_candidates(axes: Any, choice: ExplainedChoice) -> None:
    rows = _rows(choice, Reason.CANDIDATE)
    for permitted, marker, name in (
        (True, "o", "looked at, permitted"),
        (False, "x", "looked at, forbidden"),
    ):
        part = rows[(rows["other"] == 0) == permitted]
        if len(part):
            face = {"facecolors": "white", "edgecolors": "#2a7d4f"} if permitted else {"color": "#8a4b46"}
            axes.scatter(
                part["x"], part["y"], marker=marker, s=26, linewidths=1.1, label=name, zorder=5, **face
            )


def _draw_samples(figure: Any, axes: Any, choice: ExplainedChoice) -> None:
    rows = _rows(choice, Reason.SAMPLE)
    if not len(rows):
        return
    order = np.argsort(-rows["value"], kind="stable")  # the best on top
    size = float(np.clip(9000.0 / len(rows), 2.0, 46.0))
    points = axes.scatter(
        rows["x"][order],
        rows["y"][order],
        c=rows["value"][order],
        cmap="viridis_r",
        s=size,
        linewidths=0.0,
        label="tried",
        zorder=3,
    )
    figure.colorbar(points, ax=axes, shrink=0.7, label="penalty")


def _draw_ends(axes: Any, choice: ExplainedChoice) -> None:
    """Draw the disc of velocities, what was preferred and what was chosen."""
    from matplotlib.patches import Circle

    axes.add_patch(
        Circle(
            (0.0, 0.0),
            choice.maximum_speed,
            facecolor="none",
            edgecolor=DISC,
            linestyle="--",
            linewidth=1.0,
            zorder=4,
        )
    )
    axes.plot(
        [],
        [],
        color=DISC,
        linestyle="--",
        linewidth=1.0,
        label=f"maximum speed, {choice.maximum_speed:.3g} m/s",
    )
    for kind, colour, name, look in (
        (
            Reason.PREFERRED,
            WISH,
            "preferred",
            {"marker": "D", "markersize": 14, "markerfacecolor": "none", "markeredgewidth": 2.0},
        ),
        (Reason.CHOSEN, CHOSEN, "chosen", {"marker": "*", "markersize": 13, "markeredgecolor": "white"}),
    ):
        (row,) = _rows(choice, kind)
        axes.plot([0.0, row["x"]], [0.0, row["y"]], color=colour, linewidth=1.4, alpha=0.7, zorder=6)
        axes.plot(
            row["x"],
            row["y"],
            color=colour,
            linestyle="none",
            label=f"{name}, {np.hypot(row['x'], row['y']):.3g} m/s",
            zorder=7,
            **look,
        )
    axes.plot(0.0, 0.0, "+", color=DISC, markersize=9, zorder=6)


def _name(axes: Any, choice: ExplainedChoice, entity: int, place: NDArray[np.float64], colour: str) -> None:
    if entity > 0:
        label = choice.labels.get(entity, str(entity))
        axes.annotate(
            label,
            place,
            fontsize=7,
            color=colour,
            ha="center",
            va="center",
            clip_on=True,
            annotation_clip=True,
            zorder=4,
        )
