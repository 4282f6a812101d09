"""Plans in space: the ground of an OBJ file, as the scenario itself finds it; people start on its largest floor."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import shapely

from crowdsim.errors import CrowdsimError, ScenarioError
from crowdsim.plans.drawn import Drawn, counted
from crowdsim.plans.ground import Found
from crowdsim.scenario.load import parse_scenario


def ground_of_mesh(plan: Path) -> tuple[Drawn, Found, str, float]:
    """Return the largest floor of a mesh in space.

    Parameters
    ----------
    plan : Path
        An OBJ file, in metres.

    Returns
    -------
    drawn : Drawn
        Without parts, with words.
    found : Found
        The ground of its largest floor, in plan.
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
    floors = list(geometry.floors)
    grounds = list(geometry.grounds)
    number = int(np.argmax([round(ground.area, 3) for ground in grounds]))
    ground = grounds[number]
    spot = shapely.get_coordinates(ground.representative_point())[:1]
    patches = [patch.plane for patch in geometry.patches if shapely.dwithin(patch.ground, shapely.Point(spot[0]), 1e-6)] or [floors[number].plane]
    heights = [float(plane.height(spot)[0]) for plane in patches]
    height = next((each for each in heights if geometry.floor_at(*spot[0].tolist(), each) == number), heights[0])
    if len(grounds) > 1:
        drawn.words.append(f"{counted(len(grounds), 'floor')}: people start on the largest and leave there, at a height of {height:.2f} m")
    return drawn, Found(ground), up, round(height, 3)


def obj_beside(plan: Path, folder: Path, name: str) -> tuple[str, str | None]:
    """Return how a scenario in a folder names an OBJ file, and the text that has to be written there if the file lies elsewhere."""
    there, here = plan.resolve(), folder.resolve()
    if there.is_relative_to(here):
        return os.path.relpath(there, here), None
    return f"{name}.obj", there.read_text(encoding="utf-8", errors="replace")


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
