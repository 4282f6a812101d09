"""The numbers that grid maps bring along: they are the navigation's on a grid where the scenario says nothing
else, and a note reports where it does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from crowdsim.scenario.geometry_files import GridMap
from crowdsim.scenario.parameters import Chosen
from crowdsim.scenario.tree import Node, Path, Problems, number_text

Maps = Sequence[tuple[Path, str, GridMap]]  # where the scenario names them, their files, and what is in them

# Names in files.
_THEIRS = {
    "cell_size": "cellSize",
    "agent_radius": "agentRadius",
    "object_padding": "objectPadding",
    "boundary_padding": "boundaryPadding",
}


def numbers_of(maps: Maps) -> dict[str, float]:
    """Return what the files of the ground say of a grid over it, by the names of parameters;
    of two files that differ, the first counts.
    """
    found: dict[str, float] = {}
    for _, _, each in maps:
        for name in _THEIRS:
            if name in each.numbers:
                found.setdefault(name, each.numbers[name])
    return found


def check_numbers(
    maps: Maps, navigations: Mapping[Path, Chosen], root: Node, problems: Problems, notes: Problems
) -> None:
    """Report files that disagree, and note what a scenario says otherwise than its files,
    and what nobody asks for.

    Parameters
    ----------
    maps : sequence
    navigations : mapping of Path to Chosen
        Of the scenario and of groups that have one of their own, by where they stand.
    root : Node
        The whole scenario.
    problems, notes : Problems
    """
    for path, file, each in maps:
        if each.numbers.get("floor_height"):
            height = number_text(each.numbers["floor_height"])
            way_out = (
                f"A storey has a height: storeys: [{{name: ground, elevation: {height}, walkable: ...}}]."
            )
            notes.add(path, f"{file} says floorY {height}, but the ground lies at height 0", way_out)
    on_cells = {path: chosen for path, chosen in navigations.items() if chosen.needs_cells}
    numbers = numbers_of(maps)
    if not numbers:
        return
    if not on_cells:
        path, file, each = next(found for found in maps if any(name in found[2].numbers for name in _THEIRS))
        if set(numbers) != {"cell_size"} or each.raster is None:
            said = ", ".join(
                f"{_THEIRS[name]} {number_text(each.numbers[name])}"
                for name in _THEIRS
                if name in each.numbers
            )
            way_out = "navigation: s2-grid takes them."
            notes.add(
                path,
                f"{file} says {said}, which are numbers of a grid, and no group finds paths on one",
                way_out,
            )
        return
    if sum(each.raster is not None for _, _, each in maps) > 1:
        path, file, _ = [found for found in maps if found[2].raster is not None][1]
        problems.add(
            path,
            f"{file} is a second file of cells, and a grid has the cells of one",
            "Take navigation: mesh, or write one file.",
        )
        return
    for path in on_cells:
        for name, value in numbers.items():
            _check_one(name, value, path, maps, root, problems, notes)


def _check_one(
    name: str, value: float, path: Path, maps: Maps, root: Node, problems: Problems, notes: Problems
) -> None:
    given = _given(root, path, name)
    said = [(at, file, each.numbers[name]) for at, file, each in maps if name in each.numbers]
    if given is not None:
        if given != value:
            others = ", ".join(
                f"{file} says {_THEIRS[name]} {number_text(there)}"
                for _, file, there in said
                if there != given
            )
            notes.add((*path, name), f"is {number_text(given)}, but {others}: {number_text(given)} counts")
        return
    if _given(root, ("navigation",), name) is not None:
        return  # told there
    other = next(((at, file, there) for at, file, there in said if there != value), None)
    if other is not None:
        at, file, there = other
        problems.add(
            at,
            f"{file} says {_THEIRS[name]} {number_text(there)}, but {said[0][1]} says {number_text(value)}",
            f"Say which counts: navigation: {{{name}: {number_text(value)}, ...}}.",
        )


def _given(root: Node, path: Path, name: str) -> Any:
    """Return the number that a scenario itself gives a parameter, or None."""
    node = root.at((*path, name))
    return (
        float(node.value)
        if node is not None and isinstance(node.value, (int, float)) and not isinstance(node.value, bool)
        else None
    )


def navigations_in(
    scenario: Chosen | None, groups: Sequence[Any], indices: Mapping[str, int]
) -> dict[Path, Chosen]:
    """Return how the scenario and its groups find their paths, by where that stands in the file."""
    own: dict[Path, Chosen] = {
        ("groups", indices[group.name], "navigation"): group.navigation
        for group in groups
        if group.navigation is not None
    }
    if scenario is not None and (not groups or len(own) < len(groups)):
        return {("navigation",): scenario, **own}
    return own
