"""Plans in space: the ground of an OBJ file, as the scenario itself finds it; people start on its largest piece."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import shapely

from crowdsim.errors import CrowdsimError, ScenarioError
from crowdsim.plans.drawn import Drawn, counted
from crowdsim.plans.ground import Found
from crowdsim.scenario.load import parse_scenario
from crowdsim.scenario.shapes import GRID_M, cleaned


def ground_of_mesh(plan: Path) -> tuple[Drawn, Found, str, float]:
    """Return the largest piece of ground of a mesh in space.

    Parameters
    ----------
    plan : Path
        An OBJ file, in metres.

    Returns
    -------
    drawn : Drawn
        Without parts, with words.
    found : Found
        The largest piece, in plan; people may walk from it to those that it touches.
    up : str
        Which axis of the file points up: y, or z where y gives no ground.
    height : float, m
        Of that ground, in its middle.

    Raises
    ------
    CrowdsimError
        If it has no ground.
    """
    there = plan.resolve()
    if not there.is_file():
        raise CrowdsimError(f'"{plan}": there is no such file.')
    drawn, refused = Drawn(), ""
    for up in ("y", "z"):
        text = f"version: 1\ngeometry: {{surface: {{obj_file: {_quoted(there.name)}, up: {up}}}}}\ngroups: [{{name: people, count: 1, height: 0}}]\n"
        try:
            geometry: Any = parse_scenario(text, file=str(plan), folder=there.parent).geometry
        except ScenarioError as error:
            refused = refused or "\n".join(problem.message for problem in error.problems)
            continue
        break
    else:
        raise CrowdsimError(f"{plan}: {refused}")
    if up == "z":
        drawn.words.append("z points up in it")
    sheets: dict[int, list[Any]] = {}
    for patch in geometry.patches:
        sheets.setdefault(patch.sheet, []).append(patch)
    # A floor may have sheets that do not touch, a low gallery in a hall: agents that start on another could not get to the exit.
    largest = max(sheets.values(), key=lambda patches: round(sum(patch.ground.area for patch in patches), 3))
    ground = cleaned(shapely.union_all([patch.ground for patch in largest], grid_size=GRID_M))
    spot = shapely.get_coordinates(ground.representative_point())[:1]
    patch = min(largest, key=lambda each: each.ground.distance(shapely.Point(spot[0])))
    height = float(patch.plane.height(spot)[0])
    if len(sheets) > 1:
        drawn.words.append(f"{counted(len(sheets), 'piece')} of ground: people start on the largest and leave there, at a height of {height:.2f} m")
    return drawn, Found(ground), up, round(height, 3)


def obj_beside(plan: Path, folder: Path, name: str) -> tuple[str, str | None]:
    """Return how a scenario in a folder names an OBJ file, and the text that has to be written there if the file lies elsewhere."""
    there, here = plan.resolve(), folder.resolve()
    if there.is_relative_to(here):
        return os.path.relpath(there, here), None
    return f"{name}.obj", there.read_text(encoding="utf-8", errors="replace")


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
