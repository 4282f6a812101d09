"""Grids in files: the JSON form and the plain text form of [Pathfinding undated], section 2,
and the .map form of the MovingAI benchmark.

The document's ground is the x-z plane; its z is y here. Rows of its text form go from the lowest z upwards; a
.map is a picture, with its upper row first.
"""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.errors import NavigationError
from crowdsim.navigation.grid.grid import MOST_CELLS, Area, Grid, build_grid
from crowdsim.navigation.grid.parameters import GridParameters

# Names in the document's files, and ours.
NUMBERS = {
    "cellSize": "cell_size",
    "agentRadius": "agent_radius",
    "objectPadding": "object_padding",
    "boundaryPadding": "boundary_padding",
    "floorY": "floor_height",
}
_PLACE = ("minX", "minZ", "gridWidth", "gridDepth")
_MAP_WALKABLE, _MAP_BLOCKED = b".GS", b"@OTW"  # . G ground, S swamp; @ O out of bounds, T trees, W water
_MOST_BYTES = 2 * MOST_CELLS


@dataclass(frozen=True, eq=False)
class Cells:
    """Cells as a file says them.

    Attributes
    ----------
    numbers : dict of str to float
        What it says of `GridParameters`, by their names.
    x, y : float, m
        Lower left corner.
    walkable : (depth, width) bool
        The lowest row first.
    """

    numbers: dict[str, float]
    x: float
    y: float
    walkable: NDArray[np.bool_]


def load_grid(path: str | Path, parameters: GridParameters | None = None) -> Grid:
    """Load a grid from a file: .json and .txt as in [Pathfinding undated], .map as in [Sturtevant 2012].

    Parameters
    ----------
    path : str or Path
    parameters : GridParameters, optional
        What the file does not say. The numbers of a .json or .txt file come before these; a .map says
        nothing, and its cells are 1 m and its agents points unless `parameters` say otherwise.

    Returns
    -------
    Grid

    Raises
    ------
    NavigationError
        If the file cannot be read, or has not the form of its ending.
    """
    path = Path(path)
    readers: dict[str, Callable[[str, GridParameters | None], Grid]] = {
        ".json": grid_from_json,
        ".txt": grid_from_text,
        ".map": grid_from_map,
    }
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise NavigationError(
            f"{path}: a grid is read from {', '.join(readers)}, not from "
            f"{path.suffix or 'a file without an ending'}."
        )
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise NavigationError(
                f"{path}: {path.stat().st_size:,} bytes; files of at most {_MOST_BYTES:,} are read."
            )
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise NavigationError(f"{path} cannot be read: {error.strerror or error}.") from None
    except UnicodeDecodeError:
        raise NavigationError(f"{path} is not a text file.") from None
    try:
        return reader(text, parameters)
    except NavigationError as error:
        raise NavigationError(f"{path}: {error}") from None


def save_grid(grid: Grid, path: str | Path, radius: float | None = None) -> None:
    """Save the cells of one radius in the text form of [Pathfinding undated],
    which loads much faster than polygons are built.

    Parameters
    ----------
    grid : Grid
    path : str or Path
    radius : float, m, optional
        `agent_radius` where none is given.

    Raises
    ------
    NavigationError
        If the file cannot be written.
    """
    try:
        Path(path).write_text(grid_to_text(grid, radius), encoding="utf-8")
    except OSError as error:
        raise NavigationError(f"{path} cannot be written: {error.strerror or error}.") from None


def grid_to_text(grid: Grid, radius: float | None = None) -> str:
    """Return the cells of one radius in the text form of [Pathfinding undated]; see `save_grid`."""
    own = {name: getattr(grid.parameters, ours) for name, ours in NUMBERS.items()}
    if radius is not None:
        own["agentRadius"] = radius
    head = {
        "cellSize": own.pop("cellSize"),
        "agentRadius": own.pop("agentRadius"),
        "floorY": own.pop("floorY"),
        **own,
    }
    lines = [f"{name} {float(value)!r}" for name, value in head.items()]
    lines += [f"minX {grid.x!r}", f"minZ {grid.y!r}", f"gridWidth {grid.width}", f"gridDepth {grid.depth}"]
    rows = np.where(grid.walkable(head["agentRadius"]), np.uint8(ord("1")), np.uint8(ord("0")))
    return "\n".join([*lines, *(row.tobytes().decode("ascii") for row in rows)]) + "\n"


def grid_from_text(text: str, parameters: GridParameters | None = None) -> Grid:
    """Read the text form of [Pathfinding undated], section 2a:
    lines of a name and a number, then rows of 1 and 0, the lowest first.

    Wider agents than the file was made for are kept off its blocked cells by what they are wider; narrower
    ones have no more cells than it says.

    Parameters
    ----------
    text : str
    parameters : GridParameters, optional
        What the head does not say.

    Returns
    -------
    Grid

    Raises
    ------
    NavigationError
        If it has not that form.
    """
    cells = cells_from_text(text)
    parameters = _with_numbers(parameters or GridParameters(), cells.numbers)
    return _grid_of(cells, parameters, parameters.agent_radius + parameters.object_padding)


def _grid_of(cells: Cells, parameters: GridParameters, kept: float) -> Grid:
    depth, width = cells.walkable.shape
    grid = Grid(parameters, cells.x, cells.y, width, depth)
    grid.add_cells(cells.walkable, kept)
    return grid


def cells_from_text(text: str) -> Cells:
    """Read the cells of the text form of [Pathfinding undated]; see `grid_from_text`."""
    lines = text.split("\n")
    head: dict[str, float] = {}
    first = len(lines)
    for number, line in enumerate(lines, 1):
        words = line.split()
        if (len(words) == 1 and set(words[0]) <= {"0", "1"}) or (not words and head):
            first = number - 1
            break
        if len(words) != 2:
            raise NavigationError(
                f'line {number} is "{line[:40]}", but the head of a grid has lines of a name and a number, '
                'such as "cellSize 0.4".'
            )
        if words[0] in head:
            raise NavigationError(f"line {number}: {words[0]} stands twice in the head.")
        _refuse_typing_slips(words[0], (*NUMBERS, *_PLACE), f"line {number}: ")
        head[words[0]] = _number(words[1], f"line {number}: {words[0]}")
    missing = [name for name in ("cellSize", *_PLACE) if name not in head]
    if missing:
        raise NavigationError(f"the head does not say {', '.join(missing)}.")
    width, depth = _count(head["gridWidth"], "gridWidth"), _count(head["gridDepth"], "gridDepth")
    rows = [line.strip() for line in lines[first : first + depth]]
    _refuse_rows(rows, lines[first + depth :], width, depth, first, b"01")
    return Cells(
        {ours: head[name] for name, ours in NUMBERS.items() if name in head},
        head["minX"],
        head["minZ"],
        _bytes_of(rows) == ord("1"),
    )


def grid_from_map(text: str, parameters: GridParameters | None = None) -> Grid:
    """Read a .map of the MovingAI benchmark ([Sturtevant 2012]): blocked cells are solid squares.

    Parameters
    ----------
    text : str
    parameters : GridParameters, optional
        Cells of 1 m and points as agents where none are given.

    Returns
    -------
    Grid
        Its lower left corner is the origin. The benchmark's cell (x, y), counted from the upper left, is
        column x and row height - 1 - y.

    Raises
    ------
    NavigationError
        If it has not that form.
    """
    parameters = parameters or GridParameters(cell_size=1.0, agent_radius=0.0, object_padding=0.0)
    return _grid_of(cells_from_map(text), parameters, 0.0)


def cells_from_map(text: str) -> Cells:
    """Read the cells of a .map, which says no numbers; see `grid_from_map`."""
    lines = text.split("\n")
    sizes: dict[str, int] = {}
    for number, name in enumerate(("type", "height", "width", "map")):
        words = lines[number].split() if number < len(lines) else []
        if not words or words[0] != name or len(words) != (1 if name == "map" else 2):
            raise NavigationError(f'line {number + 1} must be "{name}{"" if name == "map" else " ..."}".')
        if name in ("height", "width"):
            sizes[name] = _count(_number(words[1], name), name)
    width, depth = sizes["width"], sizes["height"]
    rows = [line.strip() for line in lines[4 : 4 + depth]]
    _refuse_rows(rows, lines[4 + depth :], width, depth, 4, _MAP_WALKABLE + _MAP_BLOCKED)
    return Cells({}, 0.0, 0.0, np.isin(_bytes_of(rows)[::-1], np.frombuffer(_MAP_WALKABLE, dtype=np.uint8)))


def grid_from_json(text: str, parameters: GridParameters | None = None) -> Grid:
    """Read the JSON form of [Pathfinding undated], section 2b, and build its grid.

    Parameters
    ----------
    text : str
    parameters : GridParameters, optional
        What the file does not say.

    Returns
    -------
    Grid

    Raises
    ------
    NavigationError
        If it has not that form.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NavigationError(f"this is not JSON: {error}.") from None
    if not isinstance(value, dict) or not isinstance(value.get("areas"), list):
        raise NavigationError('a grid in JSON is an object with a list "areas".')
    for key in value:
        _refuse_typing_slips(key, (*NUMBERS, "areas", "obstacles"), "")
    numbers = {ours: _number(value[name], name) for name, ours in NUMBERS.items() if name in value}
    areas = []
    for index, item in enumerate(value["areas"]):
        polygon, name = _polygon_of(item, f"areas[{index}]")
        available = item.get("available", True)
        if not isinstance(available, bool):
            raise NavigationError(
                f"areas[{index}].available is {str(available)[:40]}, but must be true or false."
            )
        areas.append(Area(name or f"areas[{index}]", polygon, available))
    listed = value.get("obstacles", [])
    if not isinstance(listed, list):
        raise NavigationError('"obstacles" must be a list.')
    obstacles = [_polygon_of(item, f"obstacles[{index}]")[0] for index, item in enumerate(listed)]
    return build_grid(areas, obstacles, _with_numbers(parameters or GridParameters(), numbers))


def _polygon_of(item: Any, where: str) -> tuple[Any, str]:
    """Return polygon and name of an area or an obstacle."""
    ring = item.get("polygon") if isinstance(item, dict) else None
    if not isinstance(ring, list) or len(ring) < 3:
        raise NavigationError(
            f'{where} must be an object with a "polygon", a list of at least 3 points [x, z].'
        )
    for index, point in enumerate(ring):
        if not isinstance(point, list) or len(point) != 2:
            raise NavigationError(f"{where}.polygon[{index}] is {str(point)[:40]}, but a point is [x, z].")
    corners = [
        [_number(part, f"{where}.polygon[{index}]") for part in point] for index, point in enumerate(ring)
    ]
    name = item.get("name", "")
    return shapely.Polygon(corners), name if isinstance(name, str) else ""


def _with_numbers(parameters: GridParameters, numbers: dict[str, float]) -> GridParameters:
    return GridParameters(**{**vars(parameters), **numbers})


def _refuse_typing_slips(name: str, known: tuple[str, ...], where: str) -> None:
    """Refuse a name that is nearly a known one; others are names of another program."""
    near = difflib.get_close_matches(name.lower(), [each.lower() for each in known], n=1, cutoff=0.8)
    if name not in known and near:
        meant = next(each for each in known if each.lower() == near[0])
        raise NavigationError(f'{where}there is no "{name[:40]}"; did you mean "{meant}"?')


def _number(value: Any, where: str) -> float:
    try:
        number = math.nan if isinstance(value, (bool, list, dict)) or value is None else float(value)
    except (ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise NavigationError(f"{where} is {str(value)[:40]}, but must be a finite number.")
    return number


def _count(value: float, name: str) -> int:
    if not 1 <= value <= MOST_CELLS or value != int(value):
        raise NavigationError(f"{name} is {value:g}, but must be a whole number from 1 to {MOST_CELLS:,}.")
    return int(value)


def _refuse_rows(
    rows: list[str], rest: list[str], width: int, depth: int, first: int, letters: bytes
) -> None:
    """Refuse rows that are not as many, not as long, or of other letters than they must be."""
    found = sum(1 for row in rows if row)
    if found < depth:
        raise NavigationError(f"{depth:,} rows are announced, but {found:,} follow.")
    allowed = set(letters.decode("ascii"))
    for number, row in enumerate(rows, first + 1):
        if len(row) != width:
            raise NavigationError(
                f"line {number}: {width:,} cells are announced, but the row has {len(row):,}."
            )
        strange = set(row) - allowed
        if strange:
            raise NavigationError(
                f'line {number}: "{min(strange)}" is no cell; cells are {", ".join(sorted(allowed))}.'
            )
    if any(line.strip() for line in rest):
        raise NavigationError(f"more rows follow than the {depth:,} that are announced.")


def _bytes_of(rows: list[str]) -> NDArray[np.uint8]:
    return np.frombuffer("".join(rows).encode("ascii"), dtype=np.uint8).reshape(len(rows), -1)
