"""Gaps that block agents: the narrowest place of the widest path,
and what a planner does not find though an agent fits through.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdsim.errors import Problem
from crowdsim.geometry.lengths import hypots
from crowdsim.navigation.goals.goals import GoalPieces
from crowdsim.navigation.grid.parameters import CellParameters, PathParameters
from crowdsim.navigation.mesh.mesh import NavMesh
from crowdsim.navigation.planning.mesh_planner import MeshPlanner, usual_planner
from crowdsim.navigation.planning.portals import FoundCorridors
from crowdsim.navigation.planning.protocol import Asked
from crowdsim.scenario.parameters import Chosen
from crowdsim.scenario.tree import listed
from crowdsim.setup.build import Built, kept_off


def shut_out(
    built: Built,
    goal: int,
    rows: NDArray[np.int64],
    position: NDArray[np.float64],
    polygon: NDArray[np.int64],
    problems: list[Problem],
) -> NDArray[np.bool_]:
    """Report agents that have a path over the mesh, but none that their own planner finds:
    padding and cells close a door, or it does not look everywhere.

    Parameters
    ----------
    built : Built
    goal : int
    rows : (k,) int64
        Agents without a path, by place in the order of identity.
    position : (n, 2) float64, m
    polygon : (n,) int64
        Where all agents are.
    problems : list of Problem
        Receives one for each group.

    Returns
    -------
    (k,) bool
        Which of them were reported.
    """
    agents, scenario, mesh, goals = built.agents, built.scenario, built.world.mesh, built.world.goals
    wanted = np.full(len(rows), goal, dtype=np.int32)
    asked = Asked(mesh, goals, position[rows], polygon[rows], wanted, agents.radius[rows])
    reported = FoundCorridors(usual_planner(mesh, goals), asked).piece >= 0
    for group in np.unique(agents.group[rows[reported]]).tolist():
        blocked = rows[reported & (agents.group[rows] == group)]
        chosen = scenario.navigation_of(scenario.groups[group])
        if (own := kept_off(built, chosen)) is not None:
            begin, under, _ = own.walks_off(position[blocked], polygon[blocked])
            wanted = np.full(len(blocked), goal, dtype=np.int32)
            asked = Asked(mesh, goals, begin, under, wanted, agents.radius[blocked])
            shut = FoundCorridors(usual_planner(own.passable, goals), asked).piece < 0
            if shut.any():
                problems.append(_kept_off(built, chosen, goal, blocked[shut]))
            if (blocked := blocked[~shut]).size == 0:
                continue
        if "object_padding" in chosen.values:
            problems.append(_shut_door(built, chosen, goal, blocked, position, polygon))
            continue
        message = (
            f'{"has" if len(blocked) == 1 else "have"} no path to goal "{scenario.goals[goal].name}" that '
            f"navigation {chosen.name} finds, and there is one over the mesh"
        )
        problems.append(problem_of(built, blocked.tolist(), message, "Take navigation: optimal, or mesh."))
    return reported


def _kept_off(built: Built, chosen: Chosen, goal: int, rows: NDArray[np.int64]) -> Problem:
    """Return the problem of agents of one group whose goal lies beyond ground that they are kept off."""
    key = "allow" if chosen.values["allow"] else "forbid"
    message = (
        f'{"has" if len(rows) == 1 else "have"} no path to goal "{built.scenario.goals[goal].name}" over the '
        f"ground that navigation leaves them: {key} is {listed(chosen.values[key])}"
    )
    way_out = "Forbid less ground, or allow more, or give them another goal."
    return problem_of(built, rows.tolist(), message, way_out)


def _shut_door(
    built: Built,
    chosen: Chosen,
    goal: int,
    rows: NDArray[np.int64],
    position: NDArray[np.float64],
    polygon: NDArray[np.int64],
) -> Problem:
    """Return the problem of agents of one group whose grid closes a path that they have over the mesh."""
    cells, paths = chosen.parameters(CellParameters), chosen.parameters(PathParameters)
    widest = rows[np.argmax(built.agents.radius[rows])]
    radius = float(built.agents.radius[widest])
    size = paths.agent_radius or radius
    needed, at_edges = (
        2.0 * (size + cells.object_padding) + cells.cell_size,
        2.0 * size * paths.keep_off_edges + cells.cell_size,
    )
    gap = widest_path(
        built.world.mesh, built.world.goals, position[widest], int(polygon[widest]), goal, np.inf
    )
    name = built.scenario.goals[goal].name
    has, it = ("has", "its") if len(rows) == 1 else ("have", "their")
    message = (
        f'{has} no path to goal "{name}" over {it} grid: with cells of {cells.cell_size:g} m and a padding '
        f"of {cells.object_padding:g} m a body of "
        f"{size:.3g} m is sure to pass gaps between obstacles from {needed:.3g} m on, and between edges of "
        f"areas from {at_edges:.3g} m on"
    )
    if gap is None or gap[0] >= needed:
        return problem_of(
            built,
            rows.tolist(),
            message,
            "Take smaller cells or less padding, or navigation: mesh, which has a path.",
        )
    # below that, cells of a millimetre are as good a proposal as any
    spare = max(gap[0] - 2.0 * radius, 0.002)
    padding, cell = (
        min(cells.object_padding, _rounded_down(spare / 4.0)),
        min(cells.cell_size, _rounded_down(0.45 * spare)),
    )
    return problem_of(
        built,
        rows.tolist(),
        f"{message}, and the widest path has one of {gap[0]:.3f} m at ({gap[1]:.2f}, {gap[2]:.2f})",
        (
            f"Take navigation: {{kind: grid, cell_size: {cell:g}, object_padding: {padding:g}}}, which "
            "opens it, or navigation: mesh."
        ),
    )


def _rounded_down(value: float) -> float:
    """Return a positive number with two digits that is not greater."""
    step = 10.0 ** (np.floor(np.log10(value)) - 1.0)
    return float(f"{np.floor(value / step + 1e-9) * step:.12g}")


def widest_path(
    mesh: NavMesh, goals: GoalPieces, position: NDArray[np.float64], polygon: int, goal: int, too_wide: float
) -> tuple[float, float, float] | None:
    """Find the narrowest place of the widest path to a goal.

    Parameters
    ----------
    mesh : NavMesh
    goals : GoalPieces
    position : (2,) float64, m
    polygon : int
    goal : int
    too_wide : float, m
        A width for which there is no path.

    Returns
    -------
    (width, x, y) or None
        Width (m) and middle of the gap; None if there is no path even for a point.
    """
    planner = MeshPlanner(mesh, goals, kind="optimal")  # reports at once that there is no path
    widths = planner.widths
    widths = widths[widths < too_wide]

    def fits(width: float) -> bool:
        end, radius = np.array([goal], dtype=np.int32), np.array([width / 2.0])
        asked = Asked(mesh, goals, position.reshape(1, 2), np.array([polygon]), end, radius)
        return bool(FoundCorridors(planner, asked).piece[0] >= 0)

    if not fits(0.0):
        return None
    # an agent as wide as widths[low - 1] fits, one as wide as widths[high] does not
    low, high = 0, len(widths)
    while low < high:
        middle = (low + high) // 2
        if fits(float(widths[middle])):
            low = middle + 1
        else:
            high = middle
    if low == 0:
        return None
    width = float(widths[low - 1])
    x, y = _gap_of_width(mesh, width)
    return width, x, y


def _gap_of_width(mesh: NavMesh, width: float) -> tuple[float, float]:
    """Return the middle of an edge or diagonal of exactly this length between two wall vertices,
    or of the middle part of such an edge that was cut.
    """
    cut = np.flatnonzero((mesh.edge_width == width) & (mesh.edge_twin >= 0))
    if len(cut):
        middle = mesh.portal_point[cut[len(cut) // 2]]
        return float(middle[0]), float(middle[1])
    for polygon in range(mesh.polygon_count):
        corners = mesh.edge_vertex[mesh.polygon_start[polygon] : mesh.polygon_start[polygon + 1]]
        points = mesh.vertex[corners, :2]
        span = hypots(points[:, None, 0] - points[None, :, 0], points[:, None, 1] - points[None, :, 1])
        hits = np.argwhere(span == width)
        for i, j in hits:
            if mesh.is_wall_vertex[corners[i]] == 1 and mesh.is_wall_vertex[corners[j]] == 1:
                middle = 0.5 * (points[i] + points[j])
                return float(middle[0]), float(middle[1])
    return float("nan"), float("nan")


def problem_of(built: Built, rows: list[int], message: str, way_out: str) -> Problem:
    """Return a problem of some agents of one group, called by the first of them."""
    agents = built.agents
    more = f" and {len(rows) - 1:,} more" if len(rows) > 1 else ""
    return Problem(
        agents.label(rows[0]) + more, message, way_out, *built.scenario.groups[agents.group[rows[0]]].place
    )
