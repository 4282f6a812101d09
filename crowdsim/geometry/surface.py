"""Where one can walk on a mesh in space: upward faces by slope,
without what stands on them or hangs too low above.

The ground comes as plane *patches* that meet along whole edges. Faces are gathered into *sheets*: connected,
and nowhere one above another, so that a sheet is cut in plan.
"""

from __future__ import annotations

import itertools
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.errors import NavigationError
from crowdsim.geometry.floor_plans import CLEARANCE_M, Plane
from crowdsim.geometry.lengths import dots, hypots, lengths_of
from crowdsim.geometry.soup import Soup, edges_of

GRID_M = 2.0**-20  # As of plans: patches share their corners to the last bit.
SAME_M = 1e-3  # Heights that differ by less are one: what lies a millimetre above the ground is the ground.
# Thickness that an upright face without one is given, so that there is a wall between the ground on both
# sides.
WALL_M = 0.01
UPRIGHT = 1e-3  # Share of a face's normal that points up or down, below which the face counts as upright.
STEP_M = 0.25  # Stairs have 0.15 to 0.2 m a step, high kerbs 0.25. Larger lets agents climb benches.
NEAR_M = 4.0 * GRID_M  # Corners of two sheets that were rounded apart by this are one.
TORN_M2 = 1e-4  # Area below which what rounding leaves at the rim is no ground.
SLIVER_M = 1e-5  # Mean width below which a piece of ground is rounding.
_LEAST_OVERLAP_M2 = 1e-8
# Pairs of faces that may lie over each other, for each face and besides: a hundred storeys. Each pair costs
# some 20 us.
MOST_OVER = (100, 20_000)
# And of those without the free height between them, such as tables on a floor. Each is cut out of the other:
# up to a millisecond.
MOST_CLOSE = (10, 5_000)
_WITHIN = 0.99  # Share of a face, about its middle, that counts.
_AT_ONCE = 32  # Faces whose pairs are looked for together: of 200,000 that all lie over each other, 100 MB.


@dataclass(frozen=True)
class SurfaceRules:
    """What counts as ground.

    Attributes
    ----------
    steepest : float
        Rise over run up to which one walks; 1 is 45 degrees.
    clearance : float, m
        Free height that ground needs above it.
    """

    steepest: float = 1.0
    clearance: float = CLEARANCE_M


@dataclass(frozen=True, eq=False)
class Patch:
    """A plane piece of ground.

    Attributes
    ----------
    ground : shapely Polygon
        In plan, m; corners on a grid of 2**-20 m. Patches of a sheet share whole edges.
    plane : Plane
    sheet : int
        Patches of one sheet lie side by side.
    """

    ground: Any
    plane: Plane
    sheet: int


def walkable_patches(soup: Soup, rules: SurfaceRules | None = None) -> list[Patch]:
    """Return the ground of a mesh.

    Parameters
    ----------
    soup : Soup
    rules : SurfaceRules, optional

    Returns
    -------
    list of Patch
        Sheet by sheet, the largest sheet first. Where sheets meet along an edge, patches on both sides have
        the same corners there.

    Raises
    ------
    NavigationError
        If so many faces lie over each other that it would take minutes.
    """
    rules = rules or SurfaceRules()
    corners = soup.vertices[soup.faces]
    corners = np.concatenate([np.round(corners[:, :, :2] / GRID_M) * GRID_M, corners[:, :, 2:]], axis=2)
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    length = lengths_of(normal)
    up = np.divide(normal[:, 2], length, out=np.zeros_like(length), where=length > 0.0)
    level = np.maximum(np.abs(normal[:, 2]), 1e-300)
    ground = np.flatnonzero((up > UPRIGHT) & (hypots(normal[:, 0], normal[:, 1]) <= rules.steepest * level))
    if not len(ground):
        return []
    slope = np.zeros((len(corners), 2))
    slanted = np.abs(up) > UPRIGHT
    slope[slanted] = -normal[slanted, :2] / normal[slanted, 2:]
    faces = _Faces(corners, slope, up, ground)
    _refuse_tangle(faces, rules.clearance)
    neighbours = _neighbours(soup, faces)
    sheet = _sheets(faces, neighbours)
    blocks, slits = _blocks(faces, rules.clearance)
    free = _free_ground(faces, sheet, blocks, slits)
    creases = _creases(faces, neighbours, sheet)
    _add_borders(soup, faces, neighbours, sheet, creases)
    rims = _with_common_corners(free)
    patches: list[Patch] = []
    for number, area in enumerate(free):
        if not area.is_empty:
            patches += _cut_patches(faces, sheet, number, area, rims[number], creases[number])
    return patches


def patches_without(patches: Sequence[Patch], closed: Sequence[tuple[Sequence[int], Any]]) -> list[Patch]:
    """Return ground without closed areas.

    Parameters
    ----------
    patches : sequence of Patch
    closed : sequence of (sequence of int, shapely Polygon or MultiPolygon)
        Sheets that nowhere lie above each other, and what is cut out of them in plan, m.

    Returns
    -------
    list of Patch
        Those that meet no area are as they were, but for corners where patches beside them have new ones;
        then what is left of the others.
    """
    for sheets, area in closed:
        kept = [patch for patch in patches if patch.sheet not in sheets or not patch.ground.intersects(area)]
        met = [patch for patch in patches if patch.sheet in sheets and patch.ground.intersects(area)]
        if not met:
            continue
        grounds = [patch.ground for patch in met]
        # The outlines of all that are cut are joined at once: where two meet, both get the same corners.
        within = shapely.union_all(grounds, grid_size=GRID_M)
        outline = shapely.intersection(area.boundary, within, grid_size=GRID_M)
        lines = shapely.union_all([outline, *shapely.boundary(grounds)], grid_size=GRID_M)
        pieces = shapely.get_parts(shapely.polygonize(shapely.get_parts(lines)))
        places = shapely.point_on_surface(pieces)
        left = shapely.dwithin(within, places, 4.0 * GRID_M) & ~shapely.contains(area, places)
        tree = shapely.STRtree(grounds)
        cut = [
            (met[int(tree.nearest(shapely.point_on_surface(piece)))], shapely.orient_polygons(piece))
            for piece in _without_slivers(list(pieces[left]))
        ]
        corners = shapely.points(np.unique(shapely.get_coordinates(list(pieces)), axis=0))
        patches = [
            *(replace(patch, ground=_with_corners(patch.ground, corners)) for patch in kept),
            *(replace(patch, ground=piece) for patch, piece in cut),
        ]
    return list(patches)


def _with_corners(ground: Any, corners: NDArray[Any]) -> Any:
    """Return a polygon with those of some points for corners that lie on its rim."""
    near = corners[shapely.dwithin(corners, ground.boundary, NEAR_M)]
    if not len(near):
        return ground
    rings = []
    for ring in (ground.exterior, *ground.interiors):
        points = shapely.get_coordinates(ring)
        stops = [(float(k), tuple(point)) for k, point in enumerate(points.tolist())]
        own = {point for _, point in stops}
        for k, (a, b) in enumerate(itertools.pairwise(points)):
            side = near[shapely.dwithin(near, shapely.LineString([a, b]), NEAR_M)]
            for x, y in shapely.get_coordinates(side).tolist():
                share = float(dots((x, y) - a, b - a) / dots(b - a, b - a))
                if 0.0 < share < 1.0 and (x, y) not in own:
                    stops.append((k + share, (x, y)))
        rings.append([point for _, point in sorted(stops)])
    return shapely.Polygon(rings[0], rings[1:])


@dataclass(frozen=True, eq=False)
class _Faces:
    corners: NDArray[np.float64]  # (nf, 3, 3)
    slope: NDArray[np.float64]  # (nf, 2), of those that are not upright
    up: NDArray[np.float64]  # (nf,) share of the normal that points up
    ground: NDArray[np.int64]  # numbers of the faces that may be ground

    def height(self, face: int, x: float, y: float) -> float:
        a = self.corners[face, 0]
        return float(a[2] + self.slope[face, 0] * (x - a[0]) + self.slope[face, 1] * (y - a[1]))

    def plane(self, face: int) -> Plane:
        x, y, z = self.corners[face, 0].tolist()
        return Plane((x, y, z), (float(self.slope[face, 0]), float(self.slope[face, 1])))


def _refuse_tangle(faces: _Faces, clearance: float) -> None:
    """Refuse faces that lie over each other more often than any building has it,
    before work is spent on each pair of them.
    """
    corners = faces.corners[faces.ground]
    middle = corners[:, :, :2].mean(axis=1, keepdims=True)
    # so that neighbours, which share an edge, do not meet
    plans = shapely.polygons(middle + _WITHIN * (corners[:, :, :2] - middle))
    tree = shapely.STRtree(plans)
    low, high = corners[:, :, 2].min(axis=1), corners[:, :, 2].max(axis=1)
    over = close = 0
    for begin in range(0, len(plans), _AT_ONCE):
        first, second = tree.query(plans[begin : begin + _AT_ONCE], predicate="intersects")
        first += begin
        above = (second != first) & (low[first] <= low[second])
        over += int(np.count_nonzero(above))
        close += int(np.count_nonzero(above & (low[second] < high[first] + clearance)))
        for count, (each, some), how in (
            (over, MOST_OVER, ""),
            (close, MOST_CLOSE, f" with less than {clearance:g} m between them"),
        ):
            if count > each * len(plans) + some:
                raise NavigationError(
                    f"more than {each * len(plans) + some:,} pairs of its {len(plans):,} faces lie over "
                    f"each other{how}: no ground is like that. "
                    "Leave out what is there twice, or draw the ground alone."
                )


def _neighbours(soup: Soup, faces: _Faces) -> dict[int, list[tuple[int, tuple[int, int]]]]:
    """Return for each ground face those across its edges, with the edge;
    where several lie on one side of an edge in plan, the highest.
    """
    is_ground = np.zeros(len(soup.faces), dtype=np.bool_)
    is_ground[faces.ground] = True
    found: dict[int, list[tuple[int, tuple[int, int]]]] = defaultdict(list)
    for edge, at in sorted(edges_of(soup.faces).items()):
        sides: list[list[int]] = [[], []]
        for face, upwards in at:
            if is_ground[face]:
                sides[int(upwards)].append(face)
        if not sides[0] or not sides[1]:
            continue
        a, b = soup.vertices[edge[0]], soup.vertices[edge[1]]
        across = np.array([b[1] - a[1], a[0] - b[0]])
        # Turned to the side of the faces that run along the edge downwards (in vertex numbers): their ground
        # lies on its right.
        left, right = (
            max(side, key=lambda face: (float(sign * dots(faces.slope[face], across)), -face))
            for side, sign in zip(sides, (1.0, -1.0), strict=True)
        )
        found[left].append((right, edge))
        found[right].append((left, edge))
    return found


def _add_borders(
    soup: Soup,
    faces: _Faces,
    neighbours: dict[int, list[tuple[int, tuple[int, int]]]],
    sheet: NDArray[np.int64],
    creases: dict[int, list[Any]],
) -> None:
    """Add the edges behind which a ground face has no neighbour in its sheet:
    where the next turn of a spiral begins beside the last, there is a wall.
    """
    for face in faces.ground.tolist():
        joined = {edge for other, edge in neighbours[face] if sheet[other] == sheet[face]}
        numbers, corners = soup.faces[face].tolist(), faces.corners[face][:, :2]
        for k in range(3):
            u, v = numbers[k], numbers[(k + 1) % 3]
            if (min(u, v), max(u, v)) not in joined and tuple(corners[k]) != tuple(corners[(k + 1) % 3]):
                creases[int(sheet[face])].append(shapely.LineString(corners[[k, (k + 1) % 3]]))


def _sheets(faces: _Faces, neighbours: dict[int, list[tuple[int, tuple[int, int]]]]) -> NDArray[np.int64]:
    """Return the sheet of each face (-1: no ground):
    grown from neighbour to neighbour as long as no part lies above another.
    """
    plans = shapely.polygons(faces.corners[faces.ground][:, :, :2])
    area = shapely.area(plans)
    tree = shapely.STRtree(plans)
    overlaps: dict[int, list[int]] = defaultdict(list)
    first, second = tree.query(plans, predicate="intersects")
    first, second = first[first < second], second[first < second]
    overlap = shapely.area(shapely.intersection(plans[first], plans[second])) > _LEAST_OVERLAP_M2
    for i, j in zip(
        faces.ground[first[overlap]].tolist(), faces.ground[second[overlap]].tolist(), strict=True
    ):
        overlaps[i].append(j)
        overlaps[j].append(i)
    sheet = np.full(len(faces.corners), -1, dtype=np.int64)
    count = 0
    for first in faces.ground[np.argsort(-area, kind="stable")].tolist():
        if sheet[first] >= 0:
            continue
        queue = deque([first])
        while queue:
            face = queue.popleft()
            if sheet[face] >= 0 or any(sheet[other] == count for other in overlaps[face]):
                continue
            sheet[face] = count
            queue.extend(other for other, _ in neighbours[face] if sheet[other] < 0)
        count += 1
    return sheet


def _clipped(
    polygon: list[tuple[float, ...]], values: Sequence[float], low: float
) -> tuple[list[tuple[float, ...]], list[float]]:
    """Return the part of a convex polygon where a linear function, given at its corners, is at least `low`,
    with its values there.
    """
    out: list[tuple[float, ...]] = []
    kept: list[float] = []
    for k, (point, value) in enumerate(zip(polygon, values, strict=True)):
        before, last = polygon[k - 1], values[k - 1]
        if (value >= low) != (last >= low):
            share = (low - last) / (value - last)
            out.append(tuple(p + share * (q - p) for p, q in zip(before, point, strict=True)))
            kept.append(low)
        if value >= low:
            out.append(point)
            kept.append(value)
    return out, kept


def _in_triangle(polygon: list[tuple[float, ...]], triangle: NDArray[np.float64]) -> list[tuple[float, ...]]:
    """Return the part of a convex polygon inside a triangle, in plan;
    the triangle may run in either direction.
    """
    a, b, c = (tuple(point) for point in triangle[:, :2].tolist())
    orientation = 1.0 if (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]) > 0.0 else -1.0
    for p, q in ((a, b), (b, c), (c, a)):
        values = [
            orientation * ((q[0] - p[0]) * (point[1] - p[1]) - (q[1] - p[1]) * (point[0] - p[0]))
            for point in polygon
        ]
        polygon, _ = _clipped(polygon, values, 0.0)
        if len(polygon) < 2:
            return []
    return polygon


def _blocks(faces: _Faces, clearance: float) -> tuple[dict[int, list[Any]], dict[int, list[Any]]]:
    """Return for each ground face the pieces that others block (polygons in plan),
    and the lines where upright faces stand on it.
    """
    plans = shapely.polygons(faces.corners[faces.ground][:, :, :2])
    tree = shapely.STRtree(plans)
    boxes = shapely.box(*faces.corners[:, :, :2].min(axis=1).T, *faces.corners[:, :, :2].max(axis=1).T)
    is_ground = np.zeros(len(faces.corners), dtype=np.bool_)
    is_ground[faces.ground] = True
    low, high = faces.corners[:, :, 2].min(axis=1), faces.corners[:, :, 2].max(axis=1)
    blocks: dict[int, list[Any]] = defaultdict(list)
    slits: dict[int, list[Any]] = defaultdict(list)
    other, place = tree.query(boxes)
    target = faces.ground[place]
    near = (target != other) & (low[other] < high[target] + clearance) & (high[other] > low[target] - SAME_M)
    for face, above in zip(target[near].tolist(), other[near].tolist(), strict=True):
        if abs(faces.up[above]) <= UPRIGHT:
            line = _standing(faces, face, above, clearance)
            if line is not None:
                slits[face].append(line)
            continue
        common = _in_triangle(
            [tuple(point) for point in faces.corners[face][:, :2].tolist()], faces.corners[above]
        )
        if len(common) < 3:
            continue
        over = [faces.height(above, x, y) - faces.height(face, x, y) for x, y in common]
        # ground at the same height counts once, that of the face with the lower number
        if is_ground[above] and max(map(abs, over)) < SAME_M:
            if above > face:
                continue
        else:  # other ground begins where it rises above this; a face that looks down may lie on it
            common, over = _clipped(common, over, 0.0 if is_ground[above] else -SAME_M)
        common, over = (
            _clipped(common, [-value for value in over], -clearance) if len(common) > 2 else ([], [])
        )
        if len(common) > 2:
            piece = shapely.Polygon(common)
            if piece.area > _LEAST_OVERLAP_M2:
                blocks[face].append(piece if piece.is_valid else piece.buffer(0.0))
    return blocks, slits


def _standing(faces: _Faces, face: int, wall: int, clearance: float) -> Any:
    """Return the line in plan along which an upright face stands in the free height above a ground face,
    or None.
    """
    points = [
        (*point, point[2] - faces.height(face, point[0], point[1])) for point in faces.corners[wall].tolist()
    ]
    points, over = _clipped(points, [point[3] for point in points], SAME_M)
    if len(points) > 1:
        points, over = _clipped(points, [-value for value in over], -clearance + SAME_M)
    if len(points) < 2:
        return None
    flat = np.array(points)[:, :2]
    line = shapely.LineString(
        [flat[np.lexsort((flat[:, 1], flat[:, 0]))[0]], flat[np.lexsort((flat[:, 1], flat[:, 0]))[-1]]]
    )
    inside = shapely.intersection(line, shapely.Polygon(faces.corners[face][:, :2]))
    return inside if inside.length > SAME_M else None


def _free_ground(
    faces: _Faces, sheet: NDArray[np.int64], blocks: dict[int, list[Any]], slits: dict[int, list[Any]]
) -> list[Any]:
    """Return the free ground of each sheet in plan."""
    free = []
    for number in range(int(sheet.max()) + 1):
        rows = np.flatnonzero(sheet == number)
        whole = shapely.set_precision(
            shapely.union_all(shapely.polygons(faces.corners[rows][:, :, :2]), grid_size=GRID_M), GRID_M
        )
        taken = [piece for row in rows.tolist() for piece in blocks.get(row, ())]
        lines = [line for row in rows.tolist() for line in slits.get(row, ())]
        if lines:
            # Walls along the edge of the ground are walls already.
            rim = shapely.buffer(whole.boundary, SAME_M)
            shapely.prepare(rim)
            inner = [line for line in lines if not shapely.covers(rim, line)]
            taken += [
                shapely.buffer(line, WALL_M / 2.0, cap_style="square", join_style="mitre") for line in inner
            ]
        if taken:
            whole = shapely.difference(whole, shapely.union_all(taken, grid_size=GRID_M), grid_size=GRID_M)
        parts = [
            part
            for part in shapely.get_parts(whole)
            if part.geom_type == "Polygon" and 2.0 * part.area > SLIVER_M * part.length
        ]
        free.append(shapely.MultiPolygon(parts))
    return free


def _creases(
    faces: _Faces, neighbours: dict[int, list[tuple[int, tuple[int, int]]]], sheet: NDArray[np.int64]
) -> dict[int, list[Any]]:
    """Return for each sheet the edges (in plan) between faces that are not in one plane."""
    creases: dict[int, list[Any]] = defaultdict(list)
    for face in faces.ground.tolist():
        for other, _ in neighbours[face]:
            ends = _common_edge(faces, face, other) if face < other and sheet[face] == sheet[other] else None
            if ends is not None and np.abs(faces.slope[face] - faces.slope[other]).max() > 1e-6:
                creases[int(sheet[face])].append(shapely.LineString(ends))
    return creases


def _common_edge(faces: _Faces, face: int, other: int) -> list[tuple[float, float]] | None:
    ours = {tuple(point) for point in faces.corners[face].tolist()}
    common = sorted(ours & {tuple(point) for point in faces.corners[other].tolist()})
    if len(common) != 2 or common[0][:2] == common[1][:2]:
        return None
    return [(point[0], point[1]) for point in common]


def _with_common_corners(free: Sequence[Any]) -> dict[int, list[Any]]:
    """Return the rims of each sheet's ground as rings with the same corners wherever two lie on each other in
    plan, so that they can be joined there.
    """
    parts = [(number, part) for number, area in enumerate(free) for part in shapely.get_parts(area)]
    rings = [
        [number, shapely.get_coordinates(ring)[:-1]]
        for number, part in parts
        for ring in (part.exterior, *part.interiors)
    ]
    if not rings:
        return {}
    owner = np.concatenate([np.full(len(points), number) for number, points in rings])
    corners = np.concatenate([points for _, points in rings])
    tree = shapely.STRtree(shapely.points(corners))
    first, second = tree.query(shapely.points(corners), predicate="dwithin", distance=NEAR_M)
    # Corners that should be one take the place of the first of them.
    same = np.full(len(corners), len(corners))
    np.minimum.at(same, first, second)
    corners = corners[same]
    tree = shapely.STRtree(shapely.points(corners))
    begin = 0
    found: dict[int, list[Any]] = defaultdict(list)
    for number, points in rings:
        own = corners[begin : begin + len(points)]
        begin += len(points)
        after = np.roll(own, -1, axis=0)
        segment, vertex = tree.query(
            shapely.linestrings(np.stack([own, after], axis=1)), predicate="dwithin", distance=NEAR_M
        )
        foreign = owner[vertex] != number
        stops: dict[int, list[tuple[float, tuple[float, float]]]] = defaultdict(list)
        for k, v in zip(segment[foreign].tolist(), vertex[foreign].tolist(), strict=True):
            span = after[k] - own[k]
            share = float(dots(corners[v] - own[k], span) / max(float(dots(span, span)), 1e-300))
            if (
                0.0 < share < 1.0
                and not np.array_equal(corners[v], own[k])
                and not np.array_equal(corners[v], after[k])
            ):
                stops[k].append((share, (float(corners[v, 0]), float(corners[v, 1]))))
        line = [
            point
            for k in range(len(own))
            for point in [
                (float(own[k, 0]), float(own[k, 1])),
                *dict.fromkeys(p for _, p in sorted(stops[k])),
            ]
        ]
        if len(set(line)) > 2:
            found[number].append(shapely.LinearRing(line))
    return found


def _cut_patches(
    faces: _Faces,
    sheet: NDArray[np.int64],
    number: int,
    area: Any,
    rim: Sequence[Any],
    creases: Sequence[Any],
) -> list[Patch]:
    """Return the free ground of a sheet cut into plane patches that share whole edges."""
    rows = np.flatnonzero(sheet == number)
    plans = shapely.polygons(faces.corners[rows][:, :, :2])
    tree = shapely.STRtree(plans)
    shapely.prepare(area)
    inner = [crease for crease in creases if shapely.intersects(area, crease)]
    # creases reach over the rim, whose corners may have been moved by `NEAR_M`
    wide = shapely.buffer(area, 3.0 * NEAR_M)
    shapely.prepare(wide)
    lines = shapely.union_all([*rim, *(shapely.intersection(wide, inner) if inner else [])], grid_size=GRID_M)
    pieces = shapely.get_parts(shapely.polygonize(shapely.get_parts(lines)))
    inside = shapely.dwithin(area, shapely.point_on_surface(pieces), 4.0 * GRID_M)
    whole = inside & shapely.covers(wide, pieces)
    # Where rounding has opened a ring of the rim, a piece runs on into what is no ground: only its ground is
    # taken, with walls round it.
    torn = shapely.get_parts(shapely.intersection(pieces[~whole], area))
    rest = [part for part in torn if part.geom_type == "Polygon" and part.area > TORN_M2]
    patches = []
    for piece in _without_slivers([*pieces[whole], *rest]):
        face = int(rows[tree.nearest(shapely.point_on_surface(piece))])
        patches.append(Patch(shapely.orient_polygons(piece), faces.plane(face), number))
    return sorted(patches, key=lambda patch: shapely.get_coordinates(patch.ground).tolist())


def _without_slivers(pieces: list[Any]) -> list[Any]:
    """Return pieces of which the slivers have been joined to the neighbour with which they share most;
    those that share nothing are dropped.

    Slivers come from lines that should be one and were rounded apart. All other corners stay, so that pieces
    still share whole edges.
    """
    is_sliver = np.array([2.0 * piece.area <= SLIVER_M * piece.length for piece in pieces], dtype=np.bool_)
    if not is_sliver.any():
        return pieces
    tree = shapely.STRtree(pieces)
    for _ in range(len(pieces)):
        waiting = [row for row in np.flatnonzero(is_sliver).tolist() if pieces[row] is not None]
        if not waiting:
            break
        changed = False
        for row in waiting:
            others = [
                other
                for other in np.sort(tree.query(pieces[row])).tolist()
                if other != row and pieces[other] is not None
            ]
            shared = [
                shapely.length(shapely.intersection(pieces[row].boundary, pieces[other].boundary))
                for other in others
            ]
            if not others or max(shared) <= 0.0:
                continue
            best = others[int(np.argmax(shared))]
            joined = shapely.union(pieces[row], pieces[best])
            if joined.geom_type == "Polygon" and joined.is_valid:
                pieces[best], pieces[row], changed = joined, None, True
                is_sliver[best] = 2.0 * joined.area <= SLIVER_M * joined.length
        if not changed:
            break
    return [
        piece for piece, sliver in zip(pieces, is_sliver, strict=True) if piece is not None and not sliver
    ]
