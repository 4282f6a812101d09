"""Names of floors become numbers."""

from __future__ import annotations

from typing import Any

import shapely

from crowdsim.scenario.geometry import Geometry
from crowdsim.scenario.tree import Path, Problems, listed, suggestion


class FloorNames:
    """Turns the names of floors into their numbers.

    Parameters
    ----------
    geometry : Geometry or None
        None where it has problems: then no name is called unknown.
    problems : Problems
    """

    def __init__(self, geometry: Geometry | None, problems: Problems) -> None:
        self.geometry = geometry
        self.problems = problems

    def layer(self, shape: Any, path: Path, area: Any) -> int:
        """Return the number of the floor that an item says it is on; -1 where there are no floors, or after a problem was added.

        Parameters
        ----------
        shape : schema value with `storey` and `height`
        path : tuple
        area : shapely geometry or None
            Where the item lies in plan; None is everywhere.
        """
        storey, height = shape.storey, shape.height
        if self.geometry is None or (storey is None and height is None and not self.geometry.floors):
            return -1
        names = self.geometry.floor_names
        if height is not None:
            if storey is not None:
                self.problems.add((*path, "height"), "storey and height are both given", "Keep one of them.", key=True)
                return -1
            return self._layer_at(height, path, area)
        if storey is None:
            if len(names) > 1:
                self.problems.add(path, "says no storey, but the geometry has several", f"Add storey: one of {listed(names)}; or height.")
            return 0
        if storey in names and self.geometry.floors:
            return names.index(storey)
        if not self.geometry.floors:
            self.problems.add((*path, "storey"), f'names the storey "{storey}", but the geometry has none', "Leave it out.", key=True)
        else:
            self.problems.add((*path, "storey"), f'there is no storey "{storey}"', f"{suggestion(storey, names)} Known are {listed(names)}.".strip())
        return -1

    def _layer_at(self, height: float, path: Path, area: Any) -> int:
        """Return the floor whose ground is nearest in height, where the item lies in plan."""
        assert self.geometry is not None
        spots = [area] if area is not None else [floor.ground for floor in self.geometry.floors]
        for spot in spots:
            common = shapely.intersection(spot, self.geometry.walkable)
            if not common.is_empty:
                point = common.representative_point()
                layer = self.geometry.floor_at(point.x, point.y, height)
                if layer >= 0:
                    return layer
        self.problems.add((*path, "height"), f"there is no ground with a height of about {height:g} m there", "Give a storey, or another place.")
        return -1

    def text(self, layer: int) -> str:
        """Return what tells points of one floor from those of others in the names of inline goals."""
        return f" on {self.geometry.floor_names[layer]}" if self.geometry is not None and layer >= 0 else ""
