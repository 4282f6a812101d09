"""What changes in a picture of a plan: doors, and obstacles with their paths and where they stand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import shapely

from crowdsim.scenario.geometry import ToggledArea
from crowdsim.scenario.obstacles import Obstacle

MOST_GHOSTS = 12  # Outlines of one obstacle on its path; more are a band.
MOST_PLACES = 400  # Ticks that are looked at for its path.
OBSTACLE, OPEN, CLOSED = "#c77d1a", "#2a9d5c", "#d62828"


def draw_doors(axes: Any, areas: Sequence[ToggledArea], available: Sequence[bool]) -> None:
    """Draw areas that can be closed: green and empty while they are open (thin where they are rooms of a grid map), red and filled while they are closed."""
    for area, is_open in zip(areas, available, strict=True):
        colour = OPEN if is_open else CLOSED
        inside, width, hatch = ("none", 0.6 if area.shared else 1.2, None) if is_open else (colour + "66", 1.2, "////")
        for part in shapely.get_parts(area.area):
            axes.fill(*part.exterior.xy, facecolor=inside, edgecolor=colour, linewidth=width, hatch=hatch, zorder=3.5)
        left, bottom, right, top = area.area.bounds
        label = area.name if is_open else f"{area.name} (closed)"
        beside = (right, 0.5 * (bottom + top)) if top - bottom > right - left else (left, top)  # where the door itself is not
        axes.annotate(label, beside, xytext=(3, 2), textcoords="offset points", va="bottom", fontsize=7, color=colour, zorder=5)


def draw_obstacles(axes: Any, obstacles: Sequence[Obstacle], last_tick: int, layer: int) -> None:
    """Draw the obstacles of a floor: the path of each until a tick, thin outlines on it, and filled ones where it stands as closed ground, and at the end."""
    for obstacle in obstacles:
        if obstacle.layer not in (-1, layer) or obstacle.first_tick > last_tick:
            continue
        last = min(last_tick, obstacle.last_tick) if obstacle.last_tick >= 0 else last_tick
        ticks = np.unique(np.linspace(obstacle.first_tick, last, MOST_PLACES).astype(int)).tolist()
        path = np.array([obstacle.place(tick) for tick in ticks])
        axes.plot(*path.T, color=OBSTACLE, linewidth=1.0, linestyle="--", zorder=3.2)
        stands = [tick for tick in ticks if obstacle.is_closed(tick)]
        for tick in ticks[:: max(1, len(ticks) // MOST_GHOSTS)] if len(np.unique(path, axis=0)) > 1 or obstacle.turning.speed else ():
            axes.plot(*obstacle.outline(tick).exterior.xy, color=OBSTACLE, linewidth=0.5, alpha=0.6, zorder=3.2)
        for outline in _different([obstacle.outline(tick) for tick in stands]):
            axes.fill(*outline.exterior.xy, color=OBSTACLE, alpha=0.45, linewidth=0, zorder=3.3)
        if obstacle.last_tick < 0 or last_tick < obstacle.last_tick:
            axes.plot(*obstacle.outline(last).exterior.xy, color=OBSTACLE, linewidth=1.4, zorder=3.4)
        axes.annotate(obstacle.name, path[0], xytext=(3, 3), textcoords="offset points", fontsize=7, color=OBSTACLE, zorder=5)


def _different(outlines: Sequence[Any]) -> list[Any]:
    found: dict[bytes, Any] = {}
    for outline in outlines:
        found.setdefault(outline.wkb, outline)
    return list(found.values())
