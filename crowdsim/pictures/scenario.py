"""The picture of a scenario before it runs:
ground, terrain, doors, what moves, goals and starts, and what --show names.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.errors import CrowdsimError
from crowdsim.navigation.grid.grid import Grid
from crowdsim.navigation.mesh.mesh import NavMesh
from crowdsim.navigation.soup.sectors import portal_lines
from crowdsim.navigation.vehicles.curve import poses
from crowdsim.navigation.visibility.graph import VisibilityGraph, build_graph
from crowdsim.pictures.run import (
    add_lines,
    draw_connections,
    draw_doors,
    draw_goals,
    draw_ground,
    draw_obstacles,
    draw_queues,
    draw_waypaths,
    finish,
    legend_below,
    line_mark,
    name_floor,
    panels,
)
from crowdsim.printable import counted
from crowdsim.scenario.geometry import Filled
from crowdsim.scenario.plan_in_time import plan_in_time
from crowdsim.setup.build import Built, grid_of
from crowdsim.setup.paths import Line, lines_of

LAYERS = ("mesh", "portals", "widths", "cells", "visibility", "paths", "sectors")
MOST_PATHS = 200  # More are a solid colour.
MOST_NUMBERS = 150  # Widths that are written beside their portals, the narrowest first; more cannot be read.
CELL = (0.34, 0.55, 0.76, 0.35)  # Red, green, blue, and how much of it covers what is below.
SLOW, FAST, OBSTACLE, EDGE, PORTAL, START = "#7fb069", "#9db4d0", "#d9d9d9", "#9aa0a6", "#3a6ea5", "#c1443c"
ONE_WAY = "#d95f02"


def draw_scenario(
    built: Built,
    out: Path,
    *,
    layers: Sequence[str] = ("mesh",),
    radius: float | None = None,
    form: str | None = None,
    dpi: int = 130,
) -> None:
    """Draw the plan of a scenario, floor by floor.

    Parameters
    ----------
    built : Built
    out : Path
    layers : sequence of str
        Of ``mesh`` (polygons), ``portals`` (with the points that stand for them in costs), ``widths`` (of
        gaps between walls, in metres), ``cells`` (of a grid, on which an agent can be), ``visibility``
        (tangents that an agent can use), ``paths`` (of agents to their first goals) and ``sectors`` (of a
        fill of triangles, with portals and edges to drop over).
    radius : float, m, optional
        Of the agent whose cells and visibility are drawn; by default that of the thinnest agent.
    form : str, optional
        png, svg or pdf; without it as the name ends.
    dpi : int
        Dots an inch of a PNG; the longer side is 10 inches.

    Raises
    ------
    CrowdsimError
        If a layer is not known, matplotlib is not installed, or what a layer shows cannot be made on this
        ground.
    """
    unknown = [layer for layer in layers if layer not in LAYERS]
    if unknown:
        raise CrowdsimError(f'there is no layer "{unknown[0]}". Known are {", ".join(LAYERS)}.')
    scenario, mesh = built.scenario, built.world.mesh
    geometry = scenario.geometry
    figure, all_axes = panels(len(geometry.grounds), geometry.walkable.bounds)
    plan = plan_in_time(geometry)
    if radius is None:
        radius = float(built.agents.radius.min()) if len(built.agents) else 0.2
    if "sectors" in layers and geometry.filled is None:
        raise CrowdsimError(
            "there are no sectors here: this ground is no fill of triangles. Leave sectors out of --show."
        )
    graph = _graph_of(mesh) if "visibility" in layers else None
    grid, own_radius = _grid_of(built, radius) if "cells" in layers else (None, radius)
    lines = lines_of(built, MOST_PATHS) if "paths" in layers else []
    for number, (axes, ground) in enumerate(zip(all_axes, plan.grounds, strict=True)):
        draw_ground(axes, ground)
        _draw_areas(axes, built, number)
        draw_doors(axes, plan, [area.available for area in plan.areas], number)
        draw_obstacles(axes, scenario.obstacles, scenario.stop.ticks, number if geometry.floors else -1)
        draw_goals(axes, [goal if goal.layer in (-1, number) else None for goal in scenario.goals], {})
        draw_queues(axes, [queue for queue in scenario.queues if queue.layer in (-1, number)])
        draw_connections(axes, scenario.connections, number)
        draw_waypaths(axes, scenario.waypaths, number)
        edges = np.flatnonzero(mesh.polygon_layer[mesh.edge_polygon] == number)
        if "mesh" in layers:
            add_lines(axes, _segments(mesh, _once(mesh, edges)), colors=EDGE, linewidths=0.5, zorder=1.5)
        if "portals" in layers:
            _draw_portals(axes, mesh, edges)
        if "widths" in layers:
            _draw_widths(axes, mesh, edges)
        if "sectors" in layers and geometry.filled is not None:
            _draw_sectors(axes, geometry.filled, number)
        if grid is not None:
            _draw_cells(axes, grid, own_radius, number)
        if graph is not None:
            draw_visibility(axes, graph, radius)
        _draw_starts(axes, built, number)
        _draw_paths(axes, built, [line for line in lines if line.layer == number], named=number == 0)
        for (group, _), drive in built.drives.items():
            if max(0, scenario.groups[group].layer) == number:
                curve = poses(drive.curve, np.linspace(0.0, drive.curve.length, 400))
                axes.plot(*curve[:, :2].T, color=PORTAL, linewidth=1.2, zorder=2.5)
                x, y, ux, uy = curve[0].tolist()
                outline = [(x + a * ux - b * uy, y + a * uy + b * ux) for a, b in drive.vehicle.corners()]
                axes.plot(*zip(*outline, strict=True), color=PORTAL, linewidth=0.9, zorder=2.5)
        name_floor(axes, geometry, number)
    title = "  |  ".join(
        [
            scenario.name,
            f"{counted(len(built.agents), 'agent')}, {mesh.polygon_count:,} polygons",
            *_notes(layers, radius, lines, built),
            *(
                [f"cells of {grid.parameters.cell_size:g} m for a radius of {own_radius:.3g} m"]
                if grid
                else []
            ),
        ]
    )
    finish(figure, None if geometry.floors else all_axes[0], title, out, form=form, dpi=dpi)


def _notes(layers: Sequence[str], radius: float, lines: Sequence[Line], built: Built) -> list[str]:
    found = [f"visibility of a radius of {radius:.3g} m"] if "visibility" in layers else []
    filled = built.scenario.geometry.filled
    if "sectors" in layers and filled is not None:
        count, runs = len(filled.layers), filled.graph.portals.is_two_way
        found.append(
            f"{counted(count, 'sector')}, {len(runs):,} portals, {int((~runs).sum()):,} of them one-way"
        )
    if "paths" in layers:
        shown = len({line.row for line in lines})
        found.append(
            counted(shown, "path") + (f" of {len(built.agents):,}" if shown < len(built.agents) else "")
        )
    return found


def _grid_of(built: Built, radius: float) -> tuple[Grid, float]:
    """Return the cells of the first navigation that has some, and the radius that paths over them are looked
    for with, for an agent of a radius (m).
    """
    chosen = next((each for each in built.scenario.navigations if each.needs_cells), None)
    if chosen is None:
        raise CrowdsimError(
            "no agent finds its paths over cells here. Leave cells out of --show, or add "
            "--set navigation=grid."
        )
    grid, own = grid_of(built, chosen), float(chosen.values["agent_radius"]) or radius
    if own > grid.widest_body:
        raise CrowdsimError(
            f"cells are made for agents of up to {grid.widest_body:g} m here, and the radius is {own:g} m. "
            "Take a smaller one."
        )
    return grid, own


def _draw_cells(axes: Any, grid: Grid, radius: float, layer: int) -> None:
    """Draw the cells of a floor on which an agent can be."""
    walkable, x, y = grid.on_floor(grid.walkable(radius), layer)
    rows, columns = walkable.shape
    cell, colours = grid.parameters.cell_size, np.zeros((rows, columns, 4))
    colours[walkable] = CELL
    axes.imshow(
        colours,
        extent=(x, x + columns * cell, y, y + rows * cell),
        origin="lower",
        interpolation="nearest",
        aspect=axes.get_aspect(),
        zorder=1.2,
    )


def _draw_sectors(axes: Any, filled: Filled, layer: int) -> None:
    """Draw the sectors of a floor, those that slope shaded, and the portals from them: there and back, and
    one-way ones.
    """
    graph, own = filled.graph, np.flatnonzero(filled.layers == layer)
    first = graph.sectors.first[own] * graph.cell
    last = first + graph.sectors.size[own] * graph.cell
    rises = np.hypot(*graph.sectors.slope[own].T) > 0.0
    for low, high, is_sloped in zip(first.tolist(), last.tolist(), rises.tolist(), strict=True):
        x, y = [low[0], high[0], high[0], low[0]], [low[1], low[1], high[1], high[1]]
        axes.fill(x, y, facecolor=FAST if is_sloped else "none", edgecolor=EDGE, linewidth=0.6, zorder=1.4)
    runs = graph.portals
    begins_here = filled.layers[runs.sectors[:, 0]] == layer
    ends_here = filled.layers[runs.sectors[:, 1]] == layer
    lines = portal_lines(graph)
    there_and_back = runs.is_two_way & (begins_here | ends_here)
    add_lines(axes, lines[there_and_back], colors=PORTAL, linewidths=1.6, zorder=1.8)
    add_lines(axes, lines[~runs.is_two_way & begins_here], colors=ONE_WAY, linewidths=1.6, zorder=1.9)


def _graph_of(mesh: NavMesh) -> Any:
    """Return the points of visibility."""
    if int(mesh.polygon_layer.max()) > 0:
        raise CrowdsimError(
            "points of visibility are drawn of one floor only, and this geometry has several. Leave "
            "visibility out of --show."
        )
    return build_graph(mesh)[0]


def _draw_areas(axes: Any, built: Built, layer: int) -> None:
    """Draw terrain with its speed, and obstacles."""
    geometry = built.scenario.geometry
    for each in geometry.terrain[layer] if geometry.terrain else ():
        for part in shapely.get_parts(each.area):
            axes.fill(
                *part.exterior.xy,
                color=SLOW if each.speed < 1.0 else FAST,
                alpha=0.35,
                linewidth=0,
                zorder=0.5,
            )
        place = each.area.representative_point()
        axes.annotate(
            f"{each.name} {each.speed:g}",
            (place.x, place.y),
            ha="center",
            va="center",
            fontsize=7,
            color="#333333",
            zorder=5,
        )
    obstacles = geometry.floors[layer].obstacles if geometry.floors else geometry.obstacles
    for obstacle in obstacles:
        axes.fill(*obstacle.polygon.exterior.xy, color=OBSTACLE, linewidth=0, zorder=0.1)


def _segments(mesh: NavMesh, edges: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.stack([mesh.vertex[mesh.edge_vertex[edges], :2], mesh.vertex[mesh.edge_end[edges], :2]], axis=1)


def _once(mesh: NavMesh, edges: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the portals among some half-edges, one of each pair;
    both floors show the one that joins them.
    """
    twin = mesh.edge_twin[edges]
    other_floor = mesh.polygon_layer[mesh.edge_polygon[twin]] != mesh.polygon_layer[mesh.edge_polygon[edges]]
    return edges[(twin >= 0) & ((edges < twin) | other_floor)]


def _draw_portals(axes: Any, mesh: NavMesh, edges: NDArray[np.int64]) -> None:
    portals = _once(mesh, edges)
    add_lines(axes, _segments(mesh, portals), colors=PORTAL, linewidths=0.8, alpha=0.7, zorder=1.6)
    axes.plot(*mesh.portal_point[portals].T, ".", color=PORTAL, markersize=2.5, zorder=1.7)


def _draw_widths(axes: Any, mesh: NavMesh, edges: NDArray[np.int64]) -> None:
    """Draw portals between walls, the narrower the redder and bolder, and write how wide they are."""
    from matplotlib import colormaps

    portals = _once(mesh, edges)
    portals = portals[np.isfinite(mesh.edge_width[portals])]
    if not len(portals):
        return
    width = mesh.edge_width[portals]
    share = np.clip(width / 4.0, 0.0, 1.0)  # 4 m: gaps beyond that hold nobody back
    add_lines(
        axes,
        _segments(mesh, portals),
        colors=colormaps["RdYlGn"](share),
        linewidths=2.2 - 1.4 * share,
        zorder=1.8,
    )
    for place in np.argsort(width, kind="stable")[:MOST_NUMBERS].tolist():
        axes.annotate(
            f"{width[place]:.2f}",
            mesh.portal_point[portals[place]],
            fontsize=5,
            color="#222222",
            ha="center",
            va="center",
            zorder=4.5,
        )


def _draw_starts(axes: Any, built: Built, layer: int) -> None:
    rows = built.world.mesh.polygon_layer[built.polygon] == layer
    axes.plot(*built.agents.position[rows].T, ".", color=START, markersize=2.5, zorder=3)


def _draw_paths(axes: Any, built: Built, lines: Sequence[Line], *, named: bool) -> None:
    """Draw paths in the colours of their groups."""
    import matplotlib as mpl

    palette = [entry["color"] for entry in mpl.rcParams["axes.prop_cycle"]]
    group = built.agents.group
    colours = [palette[group[line.row] % len(palette)] for line in lines]
    add_lines(axes, [line.points for line in lines], colors=colours, linewidths=0.9, zorder=2.5)
    scenario = built.scenario
    if named and lines and len(scenario.groups) <= 12:
        marks = [
            line_mark(f"{each.name}: {scenario.navigation_of(each).name}", palette[number % len(palette)])
            for number, each in enumerate(scenario.groups)
        ]
        legend_below(axes, marks)


TANGENT, TIGHT, CORNER = "#3a6ea5", "#e08e0b", "#d62828"


def tangents_of(graph: VisibilityGraph, radius: float) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the tangents that an agent may use, each once.

    Parameters
    ----------
    graph : VisibilityGraph
    radius : float, m

    Returns
    -------
    (k, 2, 2) float64, m
        Where the agent's centre begins and ends.
    (k,) bool
        Whether it is free for sure; the others are tested by searches.
    """
    source = np.repeat(np.arange(len(graph.edge_start) - 1), np.diff(graph.edge_start))
    once = source // 2 < graph.edge_target // 2
    fits = once & (graph.edge_low <= radius) & (radius <= graph.edge_high)
    begin, end = (
        graph.corners.position[source[fits] // 2],
        graph.corners.position[graph.edge_target[fits] // 2],
    )
    sides = [radius * (1.0 - 2.0 * (node % 2)) for node in (source[fits], graph.edge_target[fits])]
    d = end - begin
    length = np.hypot(d[:, 0], d[:, 1])
    d /= length[:, None]
    across = np.clip((sides[1] - sides[0]) / length, -1.0, 1.0)
    u = np.sqrt(1.0 - across**2)[:, None] * d + across[:, None] * np.stack([d[:, 1], -d[:, 0]], axis=1)
    aside = np.stack([u[:, 1], -u[:, 0]], axis=1)
    return np.stack(
        [begin + sides[0][:, None] * aside, end + sides[1][:, None] * aside], axis=1
    ), radius <= graph.edge_clear[fits]


def draw_visibility(axes: Any, graph: VisibilityGraph, radius: float = 0.0) -> None:
    """Draw the graph as an agent of a radius (m) sees it:
    free tangents blue, those that searches test orange, corners as red dots.
    """
    lines, is_free = tangents_of(graph, radius)
    add_lines(axes, lines[is_free], colors=TANGENT, linewidths=0.4, alpha=0.6, zorder=2)
    add_lines(axes, lines[~is_free], colors=TIGHT, linewidths=0.4, alpha=0.6, zorder=2)
    axes.plot(*graph.corners.position.T, ".", color=CORNER, markersize=3, zorder=3)
