"""The picture of a run: the plan with the trails of all agents, doors, what moved,
the exits with their counts, and where agents were stuck.

What other pictures of plans need is here too: colours, panels, ground, goals, doors and obstacles.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import shapely
from numpy.typing import NDArray

from crowdsim.errors import needed
from crowdsim.measures.deadlock_stuck import opens_later, waits_by_design
from crowdsim.measures.obstacles import open_areas
from crowdsim.pictures.framing import bounds_of, look_at
from crowdsim.pictures.looked_through import Trails, look_through
from crowdsim.recording.made import MARK
from crowdsim.recording.reader import Recording
from crowdsim.recording.schema import EventKind
from crowdsim.scenario.connections import Connection
from crowdsim.scenario.geometry import Geometry
from crowdsim.scenario.load import scenario_of_run
from crowdsim.scenario.model import Scenario
from crowdsim.scenario.obstacles import Obstacle
from crowdsim.scenario.plan_in_time import PlanInTime, plan_in_time
from crowdsim.scenario.queues import Queue
from crowdsim.scenario.waypaths import Waypath

NO_MATPLOTLIB = "drawing needs matplotlib, which is not installed: pip install 'crowdsim[plot]'"
OUTLINES = 40  # Of a vehicle.
LEGEND_ROW = 0.2  # How high a row of a legend is, inches.

# [Okabe 2008]: people with every kind of sight tell them apart.
OKABE_ITO = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#B8A900")
DASHES = ("-", "--", "-.", ":")  # Beyond eight, and for prints without colour.


def colours_of(names: Iterable[str]) -> dict[str, str]:
    """Return a colour for each name, in their order, each name once; the ninth has the first again."""
    return {name: OKABE_ITO[number % len(OKABE_ITO)] for number, name in enumerate(dict.fromkeys(names))}


def dashes_of(names: Iterable[str]) -> dict[str, str]:
    """Return how the line of each name is drawn, so that two of one colour differ."""
    return {
        name: DASHES[number // len(OKABE_ITO) % len(DASHES)]
        for number, name in enumerate(dict.fromkeys(names))
    }


INCHES = 10.0
GROUND, WALL, EXIT, STUCK, START = "#f7f7f5", "#333333", "#2a9d5c", "#d62828", "#00000040"
WAITING = "#7d8794"


def draw_run(
    recording: Recording,
    out: Path,
    *,
    form: str | None = None,
    dpi: int = 130,
    note: Callable[[str], None] = lambda _: None,
) -> None:
    """Draw a recording and write it as a picture; obstacles that a program sent elsewhere are not on it. Of a
    region that was cut out it shows that.

    Parameters
    ----------
    recording : Recording
    out : Path
    form : str, optional
        png, svg or pdf; without it as the name ends.
    dpi : int
        Dots an inch of a PNG; the longer side is 10 inches.
    note : callable
        Gets what goes on, as words.

    Raises
    ------
    CrowdsimError
        If matplotlib is not installed.
    """
    scenario = scenario_of_run(recording.header, str(recording.path))
    geometry = scenario.geometry
    bounds = bounds_of(recording, geometry)
    figure, all_axes = panels(len(geometry.grounds), bounds)
    trails = look_through(recording, ["trails"], plan_in_time(geometry).grounds, note).trails
    note("drawing")
    notes = draw_trails(all_axes, recording, scenario, trails)
    look_at(all_axes, bounds, geometry)
    title = "  |  ".join([title_of(recording), *notes])
    finish(figure, None if geometry.floors else all_axes[0], title, out, form=form, dpi=dpi)


def finish(figure: Any, axes: Any, title: str, out: Path, *, form: str | None = None, dpi: int = 130) -> None:
    """Write a title above a figure, or above its only panel, and the figure as a picture."""
    if axes is None:
        figure.suptitle(title, fontsize=10)
    else:
        axes.set_title(title, fontsize=10)
    save(figure, out, form=form, dpi=dpi)


def save(figure: Any, out: Path, *, form: str | None = None, dpi: int = 130) -> None:
    """Write a figure as a picture with our mark (`crowdsim.recording.made`)."""
    form = form or out.suffix.lower()[1:]
    key = {"svg": "Description", "pdf": "Keywords"}.get(form, "Comment")
    figure.savefig(out, dpi=dpi, format=form, metadata={key: MARK})


def title_of(recording: Recording) -> str:
    """Return what a picture of a run says above it: the scenario, how many people, how long."""
    agents = recording.commit.agents
    return (
        f"{recording.header.name}  |  {agents:,} agent{'' if agents == 1 else 's'}, "
        f"{recording.commit.last_tick * recording.header.tick_s:g} s"
    )


def draw_trails(
    all_axes: Sequence[Any], recording: Recording, scenario: Scenario, trails: Trails
) -> list[str]:
    """Draw the plan with trails, doors, what moved, the exits with their counts, stuck and waiting agents,
    a panel for each floor; return what the title is to say.

    Parameters
    ----------
    all_axes : sequence of matplotlib axes
        One for each floor.
    recording : Recording
    scenario : Scenario
        Of the recording.
    trails : Trails
    """
    geometry = scenario.geometry
    events = recording.events()
    arrivals = Counter(events.loc[events["kind"] == "ARRIVAL", "value"].tolist())
    # by a program: where they were is not said by their timetables
    sent = set(events.loc[events["kind"] == "OBSTACLE_SENT", "value"].tolist())
    moving = [obstacle for number, obstacle in enumerate(scenario.obstacles) if number not in sent]
    plan = plan_in_time(geometry)
    open_at_the_end = plan.are_open(open_areas(geometry.areas, events, recording.commit.last_tick))
    last, stuck, waiting = _states_at_the_end(recording, scenario), 0, 0
    for layer, (axes, ground) in enumerate(zip(all_axes, plan.grounds, strict=True)):
        draw_ground(axes, ground)
        draw_goals(axes, [goal if goal.layer in (-1, layer) else None for goal in scenario.goals], arrivals)
        draw_queues(axes, [queue for queue in scenario.queues if queue.layer in (-1, layer)])
        draw_connections(axes, scenario.connections, layer)
        draw_waypaths(axes, scenario.waypaths, layer)
        draw_jumps(axes, events, ground)
        draw_doors(axes, plan, open_at_the_end, layer)
        draw_obstacles(axes, moving, recording.commit.last_tick, layer if geometry.floors else -1)
        colours = _draw_lines(axes, recording, trails, layer if "layer" in trails.rows else None)
        draw_vehicles(axes, recording, scenario, layer)
        here = _draw_states(axes, last, layer if geometry.floors else None)
        stuck, waiting = stuck + here[0], waiting + here[1]
        name_floor(axes, geometry, layer)
    marks = [line_mark(group, colour) for group, colour in colours.items()] if 1 < len(colours) <= 12 else []
    legend_below(all_axes[0], [*marks, *_state_marks(stuck, waiting)])
    notes = [f"{trails.shown:,} trails shown"] if trails.shown < trails.total else []
    return notes + ([f"{stuck:,} stuck at the end"] if stuck else [])


def name_floor(axes: Any, geometry: Geometry, layer: int) -> None:
    """Write the name and the height of a floor above its panel, where there are several."""
    if geometry.floors:
        floor = geometry.floors[layer]
        axes.set_title(
            f"{floor.name}, {floor.elevation:.3g} m" + (" and up" if floor.flight is not None else ""),
            fontsize=9,
        )


def new_figure(width: float, height: float) -> Any:
    """Return an empty figure of a size in inches. It is none of matplotlib's `pyplot`: what the user of a
    notebook draws stays on the screen, and nobody has to close it.

    Raises
    ------
    CrowdsimError
        If matplotlib is not installed.
    """
    return needed("matplotlib.figure", NO_MATPLOTLIB).Figure(figsize=(width, height), layout="constrained")


def _size(bounds: Sequence[float]) -> tuple[float, float]:
    width, height = bounds[2] - bounds[0], bounds[3] - bounds[1]
    longest = max(width, height)
    return max(4.0, INCHES * width / longest), max(3.0, INCHES * height / longest + 0.6)


def panels(count: int, bounds: Sequence[float]) -> tuple[Any, list[Any]]:
    """Return a figure with one pair of axes for each floor, side by side or one above the other as the plan
    is high or wide, all to one scale.
    """
    figure = new_figure(*panels_size(count, bounds))
    return figure, panels_in(figure, count, bounds)


def _across(count: int, bounds: Sequence[float]) -> int:
    width, height = _size(bounds)
    return 1 if count == 1 else max(1, min(count, round((count * height / width) ** 0.5)))


def panels_size(count: int, bounds: Sequence[float]) -> tuple[float, float]:
    """Return the size of a figure with a panel for each floor, inches."""
    width, height = _size(bounds)
    across = _across(count, bounds)
    down = -(-count // across)
    shrink = 1.0 if count == 1 else 1.6 / max(across, down)
    return across * width * shrink, down * height * shrink


def panels_in(figure: Any, count: int, bounds: Sequence[float], across: int = 0) -> list[Any]:
    """Return one pair of axes for each floor in a figure, or a part of one, so many side by side;
    see `panels`.
    """
    across = across or _across(count, bounds)
    axes = figure.subplots(-(-count // across), across, squeeze=False, sharex=True, sharey=True)
    for unused in axes.ravel()[count:]:
        unused.set_axis_off()
    return list(axes.ravel()[:count])


def draw_ground(axes: Any, ground: Any) -> None:
    """Draw walkable ground, holes left out, walls as lines; set equal scales in metres."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path as Outline

    for polygon in shapely.get_parts(ground):
        rings = [np.asarray(ring.coords) for ring in (polygon.exterior, *polygon.interiors)]
        codes = np.concatenate(
            [[Outline.MOVETO, *[Outline.LINETO] * (len(ring) - 2), Outline.CLOSEPOLY] for ring in rings]
        )
        axes.add_patch(
            PathPatch(
                Outline(np.concatenate(rings), codes),
                facecolor=GROUND,
                edgecolor=WALL,
                linewidth=0.9,
                zorder=0,
            )
        )
    axes.set(aspect="equal", xlabel="x (m)", ylabel="y (m)")
    axes.autoscale_view()


def draw_walls(axes: Any, ground: Any) -> None:
    """Draw the outline of walkable ground alone."""
    rings = [shapely.get_coordinates(ring) for ring in shapely.get_rings(ground)]
    add_lines(axes, rings, colors=WALL, linewidths=0.9, zorder=4, autolim=False)


def add_lines(axes: Any, lines: Any, *, autolim: bool = True, **look: Any) -> None:
    """Draw many lines at once, with what matplotlib's `LineCollection` takes."""
    from matplotlib.collections import LineCollection

    axes.add_collection(LineCollection(list(lines), **look), autolim=autolim)


def draw_queues(axes: Any, queues: Iterable[Queue]) -> None:
    """Draw the lines of queues, their servers, and their names."""
    for queue in queues:
        for line in queue.lines:
            axes.plot(*zip(*line, strict=True), linestyle=(0, (2, 2)), color=QUEUE, linewidth=0.9, zorder=2)
        x, y = zip(*queue.servers, strict=True)
        axes.plot(x, y, "s", color=QUEUE, markersize=4, zorder=2)
        axes.annotate(
            queue.name, queue.servers[0], xytext=(4, 4), textcoords="offset points", fontsize=7, color=QUEUE,
            zorder=5,
        )  # fmt: skip


def draw_connections(axes: Any, connections: Iterable[Connection], layer: int) -> None:
    """Draw the ends of connections on a floor, and their names; of drops there may be many beside each other,
    without names.
    """
    for each in connections:
        for end in [end for end in each.ends if end.layer in (-1, layer)]:
            for part in shapely.get_parts(end.area):
                axes.plot(*part.exterior.xy, linestyle=(0, (2, 2)), color=QUEUE, linewidth=0.9, zorder=2)
            if end.line:
                axes.plot(*zip(*end.line, strict=True), color=QUEUE, linewidth=0.9, zorder=2)
            if each.is_drop:
                continue
            middle = end.area.representative_point()
            axes.annotate(
                each.name, (middle.x, middle.y), ha="center", va="center", fontsize=7, color=QUEUE, zorder=5
            )


def draw_vehicles(axes: Any, recording: Recording, scenario: Scenario, layer: int) -> None:
    """Draw the outlines of vehicles on a floor, some of those that they had while the run lasted."""
    kept = {column.name for column in recording.layout.columns}
    groups = {
        number: group.vehicle
        for number, group in enumerate(scenario.groups)
        if group.vehicle is not None and max(0, group.layer) == layer
    }
    if not groups or "heading" not in kept:
        return
    roster = recording.roster()
    vehicles = roster[roster["group"].isin(groups)]
    whose = dict(zip(vehicles["entity"].tolist(), vehicles["group"].tolist(), strict=True))
    outlines = []
    for frame in range(0, recording.commit.frames, max(1, recording.commit.frames // OUTLINES)):
        rows = recording.frame_rows(frame, ["x", "y", "heading"])
        are_vehicles = np.isin(rows["id"], vehicles["entity"].to_numpy())
        columns = [rows[name][are_vehicles].tolist() for name in ("id", "x", "y", "heading_x", "heading_y")]
        for entity, x, y, ux, uy in zip(*columns, strict=True):
            corners = groups[whose[entity]].corners()
            outlines.append([(x + a * ux - b * uy, y + a * uy + b * ux) for a, b in corners])
    add_lines(axes, outlines, colors=WALL, linewidths=0.7, alpha=0.6, zorder=3)


def draw_waypaths(axes: Any, waypaths: Iterable[Waypath], layer: int) -> None:
    """Draw the waypaths of a floor with their waypoints and names, and arrows where they lead one way."""
    for each in [each for each in waypaths if each.layer in (-1, layer)]:
        axes.plot(*each.line.T, linestyle=(0, (4, 2)), color=QUEUE, linewidth=0.8, zorder=2.5)
        axes.plot(*each.line[each.waypoint].T, "o", color=QUEUE, markersize=2.5, zorder=2.5)
        if each.one_way:
            place, along = each.rest_of(0.0, float(each.along[-1]), max(1.0, float(each.along[-1]) / 6.0))
            axes.quiver(
                *place[1:].T, *along[1:].T, color=QUEUE, pivot="mid", angles="xy", scale=60, width=0.002,
                headwidth=4, zorder=2.5,
            )  # fmt: skip
        axes.annotate(
            each.name, each.line[0], xytext=(3, 4), textcoords="offset points", fontsize=7, color=QUEUE,
            zorder=5,
        )  # fmt: skip


def draw_jumps(axes: Any, events: pd.DataFrame, ground: Any) -> None:
    """Draw where agents have jumped by themselves, if one end is on the ground of a floor."""
    own = ["tick", "entity", "value"]
    ends = events[events["kind"] == "JUMPED"].merge(
        events[events["kind"] == "BOARDED"], on=own, suffixes=("", "_begin")
    )
    for x, y, x_begin, y_begin in ends[["x", "y", "x_begin", "y_begin"]].to_numpy().tolist():
        if shapely.intersects_xy(ground, [x, x_begin], [y, y_begin]).any():
            axes.annotate(
                "", (x, y), (x_begin, y_begin), zorder=5,
                arrowprops={
                    "arrowstyle": "->", "color": QUEUE, "linestyle": "dashed", "shrinkA": 0, "shrinkB": 0,
                },
            )  # fmt: skip


def draw_goals(axes: Any, goals: Any, arrivals: dict[int, int], *, named: bool = True) -> None:
    """Draw the goals that are not None, if `named` with their names and how many arrived at each,
    by index.
    """
    for number, goal in enumerate(goals):
        if goal is None:  # on another floor
            continue
        count = arrivals.get(number, 0)
        if goal.area is not None:
            for polygon in shapely.get_parts(goal.area):
                x, y = polygon.exterior.xy
                axes.fill(
                    x, y, color=EXIT, alpha=0.25 if goal.kind == "exit" else 0.12, linewidth=0, zorder=1
                )
            place = goal.area.representative_point()
            label = f"{goal.name} {count:,}" if goal.kind == "exit" or count else goal.name
            if named:
                axes.annotate(
                    label, (place.x, place.y), ha="center", va="center", fontsize=8, color="#14532d", zorder=5
                )
        elif goal.point is not None and not goal.is_inline:
            axes.plot(*goal.point, "x", color=EXIT, zorder=5)
            if named:
                axes.annotate(
                    goal.name,
                    goal.point,
                    xytext=(3, 3),
                    textcoords="offset points",
                    fontsize=7,
                    color="#14532d",
                    zorder=5,
                )


def _put_elsewhere(
    recording: Recording, entities: NDArray[np.int64], frames: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the first rows of agents after a program put them elsewhere; rows are by agent, then frame."""
    events = recording.table("events")
    moved = events[events["kind"] == EventKind.MOVED]
    most = recording.commit.frames + 1
    frame = np.searchsorted(recording.table("frames/tick"), moved["tick"])
    rows = np.searchsorted(entities * most + frames, moved["entity"] * most + frame)
    return rows[(rows > 0) & (rows < len(entities))]


def _draw_lines(axes: Any, recording: Recording, trails: Trails, layer: int | None) -> dict[str, str]:
    """Draw trails coloured by group, those on one floor if `layer` is given; return the groups' colours."""
    roster = recording.roster()
    groups = dict(zip(roster["entity"].tolist(), roster["group_name"].tolist(), strict=True))
    colours = colours_of(groups.values())
    here = trails.rows["layer"] == layer if layer is not None else np.ones(len(trails.rows["id"]), dtype=bool)
    order = np.argsort(trails.rows["id"][here], kind="stable")
    entities = trails.rows["id"][here][order]
    places = np.stack([trails.rows["x"], trails.rows["y"]], axis=1)[here][order]
    # An agent that leaves a floor, or a recorded region, and comes back has two lines: no stroke leads from
    # where it left to where it came.
    frames = trails.rows["frame"][here][order]
    bounds = np.flatnonzero((np.diff(entities) != 0) | (np.diff(frames) > trails.step)) + 1
    bounds = np.union1d(bounds, _put_elsewhere(recording, entities, frames))
    lines = np.split(places, bounds) if len(places) else []
    line_entity = entities[np.append(0, bounds)].tolist() if len(places) else []
    add_lines(
        axes,
        lines,
        colors=[colours[groups[entity]] for entity in line_entity],
        linewidths=0.7,
        alpha=0.6,
        zorder=2,
    )
    if lines:
        # A line begins where an agent came from another floor, too: only the first of each is where it set
        # out.
        ids, first = np.unique(trails.rows["id"], return_index=True)
        set_out = (
            trails.rows["frame"][first[np.searchsorted(ids, line_entity)]] == frames[np.append(0, bounds)]
        )
        axes.plot(
            *np.array([points[0] for points in lines])[set_out].T, ".", color=START, markersize=3, zorder=3
        )
    return colours


def _draw_states(axes: Any, last: pd.DataFrame, layer: int | None) -> tuple[int, int]:
    """Mark the agents that are stuck at the end, red, and those that wait by design, grey,
    on one floor if `layer` is given; return how many of each.
    """
    here = last[last["layer"] == layer] if layer is not None and "layer" in last else last
    counts = []
    for name, colour in (("is_stuck", STUCK), ("waits", WAITING)):
        marked = here[here[name] == 1]
        look = {"markerfacecolor": "none", "markeredgecolor": colour, "markersize": 7}
        axes.plot(marked["x"], marked["y"], "o", zorder=6, **look)
        counts.append(len(marked))
    return counts[0], counts[1]


def _states_at_the_end(recording: Recording, scenario: Scenario) -> pd.DataFrame:
    """Return where agents are in the last frame, which are stuck, and which wait by design (`waits`);
    none where that was not recorded.
    """
    known = {column.name for column in recording.layout.columns}
    if "is_stuck" not in known or not recording.commit.frames:
        return pd.DataFrame(columns=["x", "y", "is_stuck", "waits"])
    told = {"activity", "goal", "path_status"}
    last = recording.trajectories(
        frames=slice(recording.commit.frames - 1, None),
        columns=["x", "y", "is_stuck", *sorted((told | {"layer", "waits"}) & known)],
    )
    if not told <= known:
        return last.assign(waits=0)
    waits = waits_by_design(
        *(last[name].to_numpy() for name in ("activity", "goal", "path_status")),
        door_opens_later=opens_later(scenario.events, recording.commit.last_tick),
        waits=last["waits"].to_numpy() if "waits" in last else None,
    )
    # agents are looked at once a second: one may have begun to wait since
    return last.assign(waits=waits.astype(int), is_stuck=last["is_stuck"].to_numpy() * ~waits)


def _state_marks(stuck: int, waiting: int) -> list[Any]:
    """Return what stands in a legend for so many agents that are stuck, and that wait, if there are any."""
    return [
        dot_mark(f"{words}: {count:,}", colour, markerfacecolor="none")
        for count, colour, words in (
            (stuck, STUCK, "stuck at the end"),
            (waiting, WAITING, "waiting by design"),
        )
        if count
    ]


def line_mark(words: str, colour: str) -> Any:
    """Return a line in a colour, for a legend."""
    return needed("matplotlib.lines", NO_MATPLOTLIB).Line2D([], [], color=colour, label=words)


def dot_mark(words: str, colour: str, **look: Any) -> Any:
    """Return a dot in a colour, for a legend."""
    line = needed("matplotlib.lines", NO_MATPLOTLIB).Line2D
    return line([], [], color=colour, marker="o", linestyle="none", label=words, **look)


def legend_below(axes: Any, marks: Sequence[Any]) -> None:
    """Say what marks mean, below all panels of the figure, or of the part of one, that some axes are in: on a
    plan it would lie over people.
    """
    if not marks:
        return
    figure = axes.figure
    widest = max(len(mark.get_label()) for mark in marks)
    columns = max(1, min(len(marks), int(figure.bbox.width / figure.dpi / (0.55 + 0.065 * widest))))
    if isinstance(figure, needed("matplotlib.figure", NO_MATPLOTLIB).Figure):  # the plan stays as large
        wide, high = figure.get_size_inches()
        figure.set_size_inches(wide, high + LEGEND_ROW * -(-len(marks) // columns))
    figure.legend(handles=list(marks), loc="outside lower center", ncols=columns, fontsize=7, frameon=False)


MOST_GHOSTS = 12  # Outlines of one obstacle on its path; more are a band.
MOST_PLACES = 400  # Ticks that are looked at for its path.
OBSTACLE, OPEN, CLOSED = "#c77d1a", "#2a9d5c", "#d62828"
QUEUE = "#7a5195"


def draw_doors(axes: Any, plan: PlanInTime, available: Sequence[bool], layer: int) -> None:
    """Draw what of a floor can be closed: green and empty while it is open (thin where that is a room of a
    grid map), red and filled while it is closed.
    """
    for place, (area, is_open) in enumerate(zip(plan.areas, available, strict=True)):
        if area.layer not in (-1, layer):
            continue
        colour = OPEN if is_open else CLOSED
        inside, width, hatch = (
            ("none", 0.6 if area.shared else 1.2, None) if is_open else (colour + "66", 1.2, "////")
        )
        for part in shapely.get_parts(area.area):
            axes.fill(
                *part.exterior.xy,
                facecolor=inside,
                edgecolor=colour,
                linewidth=width,
                hatch=hatch,
                zorder=3.5,
            )
        left, bottom, right, top = area.area.bounds
        label = plan.label(place, is_open=is_open)
        # where the door itself is not
        beside = (right, 0.5 * (bottom + top)) if top - bottom > right - left else (left, top)
        axes.annotate(
            label,
            beside,
            xytext=(3, 2),
            textcoords="offset points",
            va="bottom",
            fontsize=7,
            color=colour,
            zorder=5,
        )


def draw_obstacles(axes: Any, obstacles: Sequence[Obstacle], last_tick: int, layer: int) -> None:
    """Draw the obstacles of a floor: the path of each until a tick, thin outlines on it,
    and filled ones where it stands as closed ground, and at the end.
    """
    for obstacle in obstacles:
        if obstacle.layer not in (-1, layer) or obstacle.first_tick > last_tick:
            continue
        last = min(last_tick, obstacle.last_tick) if obstacle.last_tick >= 0 else last_tick
        ticks = np.unique(np.linspace(obstacle.first_tick, last, MOST_PLACES).astype(int)).tolist()
        path = np.array([obstacle.place(tick) for tick in ticks])
        axes.plot(*path.T, color=OBSTACLE, linewidth=1.0, linestyle="--", zorder=3.2)
        stands = [tick for tick in ticks if obstacle.is_closed(tick)]
        for tick in (
            ticks[:: max(1, len(ticks) // MOST_GHOSTS)]
            if len(np.unique(path, axis=0)) > 1 or obstacle.turning.speed
            else ()
        ):
            axes.plot(
                *obstacle.outline(tick).exterior.xy, color=OBSTACLE, linewidth=0.5, alpha=0.6, zorder=3.2
            )
        different = {outline.wkb: outline for outline in map(obstacle.outline, stands)}
        for outline in different.values():
            axes.fill(*outline.exterior.xy, color=OBSTACLE, alpha=0.45, linewidth=0, zorder=3.3)
        if obstacle.last_tick < 0 or last_tick < obstacle.last_tick:
            axes.plot(*obstacle.outline(last).exterior.xy, color=OBSTACLE, linewidth=1.4, zorder=3.4)
        axes.annotate(
            obstacle.name,
            path[0],
            xytext=(3, 3),
            textcoords="offset points",
            fontsize=7,
            color=OBSTACLE,
            zorder=5,
        )
