"""Where one may walk in a plan: outlines mended and united, or what walls enclose,
and the openings that lead out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import shapely

from crowdsim.errors import CrowdsimError
from crowdsim.plans.drawn import Drawn, listed_names, was
from crowdsim.printable import counted
from crowdsim.scenario.plan_kinds import Kind

# Ends and outlines this near to each other were meant to meet; walls are thicker, and no agent passes.
GAP_M = 0.02
THICK_M = 0.1  # Of a wall that is drawn as a line.
THIN_M = 0.04  # Of a line among obstacles that encloses nothing.
# A closed outline on a layer of walls that is less wide than this on the mean is a wall; a wider one is the
# line that a wall follows.
SOLID_M = 0.8
OPENING_M = 2.5  # Gaps in outer walls up to this wide are exits; wider ones leave a building open.
LEAST_OPENING_M = 0.5  # Narrower gaps let no agent out: one of 0.22 m radius needs 0.44 m.
# Largest radius of a person as scenarios from plans have it, 0.22 m, and 1 cm: as placement keeps from walls.
BODY_M = 0.23
# How far a shape that was grown and shrunk may be from the true one, as a share of by how much: GEOS
# simplifies by 0.01 first.
_ROUGH = 0.015
MILLIMETRE = 0.001  # Corners of mended ground lie on this grid.


@dataclass
class Found:
    """Ground of a plan.

    Attributes
    ----------
    ground : shapely Polygon or MultiPolygon, m
    openings : list of shapely LineString
        Gaps in its outline that lead out.
    """

    ground: Any
    openings: list[Any] = field(default_factory=list)


def find_ground(drawn: Drawn, *, opening: float = OPENING_M, wall: float = THICK_M) -> Found:
    """Return where one may walk, and how one gets out.

    Parameters
    ----------
    drawn : Drawn
        Its words are added to.
    opening : float, m
        Largest gap in an outer wall that is a way out.
    wall : float, m
        How thick walls that are drawn as lines are.

    Raises
    ------
    CrowdsimError
        If nothing in the plan encloses ground.

    Notes
    -----
    Where outlines of rooms or floors are drawn, they are the ground, less walls and obstacles. Else walls
    are: their outline is that of the walls grown by half an opening and shrunk again with sharp corners (a
    closing: [Serra 1982]), which bridges gaps and changes nothing else; what is left of it by the walls is
    the ground.
    """
    outlines, lines = drawn.areas_of(Kind.GROUND), drawn.lines_of(Kind.GROUND)
    solid, wall_lines = _walls(drawn)
    if not outlines and not lines and not solid and not wall_lines:
        outlines, wall_lines = _without_names(drawn)
    found = Found(shapely.Polygon())
    if outlines or lines:
        closed = _closed(lines, opening, found, drawn.words)
        found.ground = _united(_mended(outlines + closed, drawn.words), drawn.words)
        found.ground = _joined_by_doors(found.ground, drawn)
        walls = _thick(solid, wall_lines, wall)
        if not walls.is_empty:
            found.ground = shapely.difference(found.ground, walls, grid_size=MILLIMETRE)
    else:
        _enclosed(_thick(_mended(solid, drawn.words), wall_lines, wall), opening, found)
    obstacles = _obstacles(drawn)
    if not obstacles.is_empty:
        found.ground = shapely.difference(found.ground, obstacles, grid_size=MILLIMETRE)
    found.ground = _polygons(found.ground)
    _leave_out_hollows(found, drawn.words)
    if found.ground.is_empty:
        raise CrowdsimError(_nothing_enclosed(drawn, opening))
    return found


def _walls(drawn: Drawn) -> tuple[list[Any], list[Any]]:
    """Return walls that are drawn as areas, and those that are drawn as lines."""
    solid, lines = [], drawn.lines_of(Kind.WALLS)
    for area in drawn.areas_of(Kind.WALLS):
        if 2.0 * area.area > SOLID_M * area.length:
            lines += [shapely.LineString(ring.coords) for ring in (area.exterior, *area.interiors)]
        else:
            solid.append(area)
    return solid, lines


def _without_names(drawn: Drawn) -> tuple[list[Any], list[Any]]:
    """Return outlines and walls of a plan in which no name says what is what:
    closed outlines are ground, those inside them obstacles, lines are walls.
    """
    outlines, lines = drawn.areas_of(None), drawn.lines_of(None)
    layers = [layer for layer in drawn.layers if drawn.kind(layer) is None]
    named = [layer for layer in layers if layer]
    if not outlines and not lines:
        return [], []
    if named:
        taken = (
            "closed outlines as ground, lines as walls"
            if outlines and lines
            else "closed outlines as ground"
            if outlines
            else "lines as walls"
        )
        drawn.words.append(
            f"no layer is called rooms, walls or the like: {taken} ({listed_names(named[:6])}); --layer "
            "KIND=NAME says otherwise"
        )
    inner = [
        i
        for i, area in enumerate(outlines)
        if any(
            j != i and other.is_valid and other.contains_properly(area) for j, other in enumerate(outlines)
        )
    ]
    if inner:
        drawn.words.append(
            f"{counted(len(inner), 'outline')} inside others "
            f"{'is an obstacle' if len(inner) == 1 else 'are obstacles'}"
        )
        drawn.areas += [("obstacles (inside)", outlines[i]) for i in inner]
    return [area for i, area in enumerate(outlines) if i not in inner], lines


def _closed(lines: Sequence[Any], opening: float, found: Found, words: list[str]) -> list[Any]:
    """Return the areas of outlines that were left open:
    mended where the ends nearly meet, closed by an opening where they are a door apart.
    """
    areas, opened = [], 0
    joined, moved = _joined(lines)
    for line in joined:
        points = shapely.get_coordinates(line)
        gap = float(np.hypot(*(points[0] - points[-1])))
        if len(points) < 3 or gap > opening:
            ends = f"({points[0][0]:.2f}, {points[0][1]:.2f}) and ({points[-1][0]:.2f}, {points[-1][1]:.2f})"
            raise CrowdsimError(
                f"An outline of the ground is open: it ends at {ends} m, {gap:.2f} m apart.\n"
                "    Close it in the drawing, or let wider gaps be exits with --opening "
                f"{np.ceil(10 * gap) / 10:g}."
            )
        if gap > GAP_M:
            found.openings.append(shapely.LineString([points[-1], points[0]]))
            opened += 1
        else:
            points[-1] = points[0]
        areas.append(shapely.Polygon(points))
    if moved:
        words.append(
            f"{counted(moved, 'end')} of lines, up to {1000 * GAP_M:g} mm apart, {was(moved)} joined"
        )
    if opened:
        words.append(f"{counted(opened, 'outline')} had a gap of a door's width: it was taken as a way out")
    return areas


def _joined(lines: Sequence[Any]) -> tuple[list[Any], int]:
    """Return lines joined at ends that are nearer to each other than a gap, as few as possible,
    and how many ends were moved for it; forks stay apart.
    """
    if not lines:
        return [], 0
    ends = np.array([shapely.get_coordinates(line)[[0, -1]] for line in lines])
    flat = ends.reshape(-1, 2)
    tree = shapely.STRtree(shapely.points(flat))
    near = tree.query(shapely.points(flat), predicate="dwithin", distance=GAP_M)
    first = np.arange(len(flat))
    np.minimum.at(first, near[0], near[1])
    moved = []
    for number, line in enumerate(lines):
        points = shapely.get_coordinates(line).copy()
        if not np.array_equal(points[0], points[-1]):
            points[0], points[-1] = flat[first[2 * number]], flat[first[2 * number + 1]]
        if len(np.unique(points, axis=0)) > 1:
            moved.append(shapely.LineString(points))
    merged = shapely.line_merge(shapely.union_all(moved))
    far = np.hypot(*(flat - flat[first]).T) > 0.0
    return [part for part in shapely.get_parts(merged) if part.geom_type == "LineString"], int(
        np.count_nonzero(far)
    )


def _mended(areas: Sequence[Any], words: list[str]) -> list[Any]:
    """Return valid areas: outlines that cross themselves become what they enclose."""
    good, crossed = [], 0
    for area in areas:
        if not area.is_valid:
            crossed += 1
            area = shapely.make_valid(area, method="structure", keep_collapsed=False)
        good += [part for part in shapely.get_parts(area) if part.geom_type == "Polygon" and part.area > 0.0]
    if crossed:
        itself, encloses = ("itself", "it encloses") if crossed == 1 else ("themselves", "they enclose")
        words.append(f"{counted(crossed, 'outline')} crossed {itself}: what {encloses} was taken")
    return good


def _united(areas: Sequence[Any], words: list[str]) -> Any:
    """Return the union of areas; those that a gap of up to 2 cm parts are joined over it."""
    united = shapely.union_all(areas)
    parts = shapely.get_parts(united)
    if len(parts) < 2:
        return united
    tree = shapely.STRtree(parts)
    pairs = tree.query(parts, predicate="dwithin", distance=GAP_M)
    first, second = pairs[:, pairs[0] < pairs[1]]
    # those that touch in a point stay two
    near = int(np.count_nonzero(shapely.distance(parts[first], parts[second]) > 0.0))
    if not near:
        return united
    words.append(f"{counted(near, 'gap')} of up to {1000 * GAP_M:g} mm between outlines {was(near)} closed")
    return _closing(shapely.set_precision(united, 1e-6), 0.5 * GAP_M + MILLIMETRE)


def _closing(area: Any, by: float) -> Any:
    grown = shapely.buffer(area, by, join_style="mitre")
    return shapely.set_precision(shapely.buffer(grown, -by, join_style="mitre"), MILLIMETRE)


def _joined_by_doors(ground: Any, drawn: Drawn) -> Any:
    """Return ground with doors that are drawn as areas: they lead through the walls between outlines."""
    doors = _mended(drawn.areas_of(Kind.DOORS), [])
    return _closing(shapely.union_all([ground, *doors]), MILLIMETRE) if doors else ground


def _thick(solid: Sequence[Any], lines: Sequence[Any], thick: float) -> Any:
    """Return walls as an area: those that are drawn so, and lines with their thickness.
    An end is where it is drawn, unless it meets another wall.
    """
    along = [
        shapely.buffer(line, 0.5 * thick, cap_style="flat", join_style="mitre")
        for line in _met(lines, solid, 0.5 * thick)
    ]
    return shapely.union_all(
        [*(shapely.make_valid(area) for area in solid), *along], grid_size=MILLIMETRE / 1000
    )


def _met(lines: Sequence[Any], solid: Sequence[Any], by: float) -> list[Any]:
    """Return lines whose ends, where they meet or nearly meet another wall, are led on by half a thickness,
    so that corners close and gaps of a drawing do.
    """
    lines = [line for line in lines if line.length > 0.0]
    if not lines:
        return []
    shapes = np.array([*lines, *solid])
    tree = shapely.STRtree(shapes)
    ends = np.array([shapely.get_coordinates(line)[[0, -1]] for line in lines])
    near = tree.query(shapely.points(ends.reshape(-1, 2)), predicate="dwithin", distance=by + GAP_M)
    meets = np.zeros((len(lines), 2), dtype=bool)
    others = near[:, near[0] // 2 != near[1]]
    meets.reshape(-1)[others[0]] = True
    result = []
    for line, (first, last) in zip(lines, meets.tolist(), strict=True):
        points = shapely.get_coordinates(line)
        points = points[np.append(True, np.any(np.diff(points, axis=0) != 0.0, axis=1))]
        is_ring = bool(np.array_equal(points[0], points[-1]))
        if first or is_ring:
            points = np.concatenate([[_on(points[1], points[0], by)], points])
        if last or is_ring:
            points = np.concatenate([points, [_on(points[-2], points[-1], by)]])
        result.append(shapely.LineString(points))
    return result


def _on(before: Any, end: Any, by: float) -> Any:
    """Return the point that lies `by` behind an end, seen from the corner before it."""
    along = end - before
    return end + along * (by / float(np.hypot(*along)))


def _enclosed(walls: Any, opening: float, found: Found) -> None:
    """Find what walls enclose, and the gaps in the outer ones."""
    if walls.is_empty:
        return
    by = 0.5 * opening
    grown = shapely.get_parts(shapely.buffer(walls, by, join_style="mitre"))
    whole = shapely.union_all(
        [shapely.Polygon(part.exterior) for part in grown if part.geom_type == "Polygon"]
    )
    building = shapely.set_precision(shapely.buffer(whole, -by, join_style="mitre"), MILLIMETRE)
    found.ground = shapely.difference(building, walls, grid_size=MILLIMETRE)
    parts = [part for part in shapely.get_parts(found.ground) if part.geom_type == "Polygon"]
    # no slivers along the outer faces
    found.ground = shapely.MultiPolygon(
        [part for part in parts if 2.0 * part.area > 2.0 * _ROUGH * by * part.length]
    )
    gaps = shapely.line_merge(
        shapely.difference(building.boundary, shapely.buffer(walls, _ROUGH * by, join_style="mitre"))
    )
    for gap in shapely.get_parts(gaps):
        points = shapely.get_coordinates(gap)
        # The middle of a true gap is half its width away from walls; along curved walls the outline is now
        # and then farther than it should be.
        if (
            gap.length + 2.0 * _ROUGH * by >= LEAST_OPENING_M
            and gap.interpolate(0.5, normalized=True).distance(walls) > 0.2 * LEAST_OPENING_M
        ):
            points[0], points[-1] = (
                _on(points[1], points[0], _ROUGH * by),
                _on(points[-2], points[-1], _ROUGH * by),
            )
            found.openings.append(shapely.LineString(points))


def _obstacles(drawn: Drawn) -> Any:
    """Return what stands on the ground: closed outlines, what lines enclose together,
    and lines as thin things.
    """
    areas = _mended(drawn.areas_of(Kind.OBSTACLES), drawn.words)
    lines = drawn.lines_of(Kind.OBSTACLES)
    if lines:
        noded = shapely.union_all(lines)
        areas += list(shapely.get_parts(shapely.polygonize(list(shapely.get_parts(noded)))))
        areas.append(shapely.buffer(noded, 0.5 * THIN_M, cap_style="flat"))
    return shapely.union_all(areas) if areas else shapely.Polygon()


def _polygons(area: Any) -> Any:
    """Return the polygons of a geometry, those that are more than rounding."""
    parts = [part for part in shapely.get_parts(area) if part.geom_type == "Polygon" and part.area > 1e-4]
    return parts[0] if len(parts) == 1 else shapely.MultiPolygon(parts)


def _leave_out_hollows(found: Found, words: list[str]) -> None:
    """Leave out parts in which nobody can stand:
    the inside of walls that are drawn as two lines, shafts, slivers.
    """
    parts = shapely.get_parts(found.ground)
    wide = [part for part in parts if not shapely.buffer(part, -BODY_M).is_empty]
    if len(wide) < len(parts):
        less = len(parts) - len(wide)
        words.append(f"{counted(less, 'hollow')} in which nobody can stand {was(less)} left out")
        found.ground = _polygons(shapely.MultiPolygon(wide))


def _nothing_enclosed(drawn: Drawn, opening: float) -> str:
    layers = ", ".join(
        f'"{layer}" ({kind.value if (kind := drawn.kind(layer)) else "unknown"})'
        for layer in sorted(drawn.layers)[:20]
        if layer
    )
    there = f" Its layers are {layers}." if layers else ""
    return (
        "Nothing in the plan encloses ground that a person can stand on: no closed outline, and no walls "
        f"with gaps of at most {opening:g} m.{there}\n"
        "    Say what is what with --layer walls=NAME or --layer ground=NAME, or let wider gaps be exits "
        "with --opening M."
    )
