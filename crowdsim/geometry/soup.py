"""Triangles as modelling programs write them, made fit for use:
welded, without doubles and slivers, all with one orientation, without T-junctions.

Every repair is reported, with the numbers of the faces; what cannot be repaired is refused.
"""

from __future__ import annotations

import itertools
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.errors import NavigationError
from crowdsim.geometry.lengths import dots, lengths_of

# Vertices nearer than this are one: exporters round to some digits. Far below the thinnest wall, a
# centimetre.
WELD_M = 1e-5
_NAMED = 5  # Faces that a message names.


@dataclass(frozen=True)
class Soup:
    """Triangles in space.

    Attributes
    ----------
    vertices : (nv, 3) float64, m
        z is up.
    faces : (nf, 3) int64
        Counter-clockwise as seen from outside.
    source : (nf,) int64
        Number of the face in the file, from 1.
    repairs : tuple of str
        What was repaired, in words.
    """

    vertices: NDArray[np.float64]
    faces: NDArray[np.int64]
    source: NDArray[np.int64]
    repairs: tuple[str, ...] = ()


def repaired(vertices: NDArray[np.float64], faces: NDArray[np.int64]) -> Soup:
    """Repair triangles.

    Parameters
    ----------
    vertices : (nv, 3) float64, m
    faces : (nf, 3) int64

    Returns
    -------
    Soup

    Raises
    ------
    NavigationError
        If a number is not finite, a face names a vertex that does not exist, no triangle is left, or faces
        are one-sided (no orientation of them fits).
    """
    if not len(faces):
        raise NavigationError("there are no faces")
    if not np.isfinite(vertices).all():
        raise NavigationError(
            f"vertex {int(np.flatnonzero(~np.isfinite(vertices).all(axis=1))[0]) + 1} is not a place: a "
            "coordinate is not a finite number"
        )
    if faces.min() < 0 or faces.max() >= len(vertices):
        bad = int(np.flatnonzero((faces < 0).any(axis=1) | (faces >= len(vertices)).any(axis=1))[0])
        raise NavigationError(
            f"face {bad + 1} names a vertex that does not exist; there are {len(vertices):,}"
        )
    repairs: list[str] = []
    source = np.arange(1, len(faces) + 1)
    vertices, faces = _welded(np.asarray(vertices, dtype=np.float64), np.asarray(faces, dtype=np.int64))
    flat = _heights_of(vertices, faces) <= WELD_M
    if flat.any():
        repairs.append(f"{_named(source[flat])} without area {_are(flat.sum())} left out")
    faces, source = faces[~flat], source[~flat]
    _, first = np.unique(np.sort(faces, axis=1), axis=0, return_index=True)
    double = np.ones(len(faces), dtype=np.bool_)
    double[first] = False
    if double.any():
        repairs.append(
            f"{_named(source[double])} that repeat{'s' if double.sum() == 1 else ''} others "
            f"{_are(double.sum())} left out"
        )
    faces, source = faces[~double], source[~double]
    if not len(faces):
        raise NavigationError("no face has an area")
    faces, source, split = _without_t_junctions(vertices, faces, source)
    if len(split):
        repairs.append(
            f"{_named(split)} with vertices of others on {'its' if len(split) == 1 else 'their'} edges "
            f"{_are(len(split))} split there"
        )
    faces, turned = _turned_alike(vertices, faces, source)
    if len(turned):
        repairs.append(
            f"{_named(turned)} that {'faces' if len(turned) == 1 else 'face'} the other way than those "
            f"around {_are(len(turned))} turned"
        )
    return Soup(vertices, faces, source, tuple(repairs))


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _named(source: Sequence[int] | NDArray[np.int64]) -> str:
    """Return faces in words: how many, and the numbers of the first."""
    numbers = sorted({int(number) for number in source})
    first = ", ".join(str(number) for number in numbers[:_NAMED])
    return (
        f"face {first}"
        if len(numbers) == 1
        else f"{len(numbers):,} faces ({first}{', ...' if len(numbers) > _NAMED else ''})"
    )


def _welded(
    vertices: NDArray[np.float64], faces: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return vertices without those that lie within `WELD_M` of an earlier one."""
    keys: dict[tuple[int, int, int], list[int]] = defaultdict(list)
    number = np.empty(len(vertices), dtype=np.int64)
    cell = np.floor(vertices / WELD_M).astype(np.int64)
    for row, (i, j, k) in enumerate(cell.tolist()):
        near = [
            other
            for a in (i - 1, i, i + 1)
            for b in (j - 1, j, j + 1)
            for c in (k - 1, k, k + 1)
            for other in keys.get((a, b, c), ())
        ]
        same = [other for other in near if np.abs(vertices[other] - vertices[row]).max() <= WELD_M]
        number[row] = min(same) if same else row
        if not same:
            keys[i, j, k].append(row)
    kept, renumbered = np.unique(number, return_inverse=True)
    return vertices[kept], renumbered[faces]


def _heights_of(vertices: NDArray[np.float64], faces: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the least height (m) of each triangle: twice its area over its longest side."""
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    longest = np.max([lengths_of(q - p) for p, q in ((a, b), (b, c), (c, a))], axis=0)
    return lengths_of(np.cross(b - a, c - a)) / np.maximum(longest, 1e-300)


def edges_of(faces: NDArray[np.int64]) -> dict[tuple[int, int], list[tuple[int, bool]]]:
    """Return for each edge (lower vertex first) the faces at it, and whether each runs along it upwards in
    vertex numbers.
    """
    found: dict[tuple[int, int], list[tuple[int, bool]]] = defaultdict(list)
    for number, (a, b, c) in enumerate(faces.tolist()):
        for u, v in ((a, b), (b, c), (c, a)):
            found[min(u, v), max(u, v)].append((number, u < v))
    return found


def _without_t_junctions(
    vertices: NDArray[np.float64], faces: NDArray[np.int64], source: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], list[int]]:
    """Return the faces split at vertices that lie on an edge of which they are the only face,
    and the numbers of the faces that were.
    """
    lone = [(edge, at[0][0]) for edge, at in edges_of(faces).items() if len(at) == 1]
    if not lone:
        return faces, source, []
    used = np.unique(faces)
    tree = shapely.STRtree(shapely.points(vertices[used, :2]))
    spans = shapely.linestrings(vertices[np.array([edge for edge, _ in lone])][:, :, :2])
    hits: dict[int, dict[tuple[int, int], list[tuple[float, int]]]] = defaultdict(dict)
    for row, place in zip(*tree.query(spans, predicate="dwithin", distance=WELD_M), strict=True):
        (a, b), face = lone[row]
        vertex = int(used[place])
        span = vertices[b] - vertices[a]
        share = float(dots(vertices[vertex] - vertices[a], span) / dots(span, span))
        if (
            vertex in faces[face]
            or not 0.0 < share < 1.0
            or lengths_of(vertices[a] + share * span - vertices[vertex]) > 2.0 * WELD_M
        ):
            continue
        hits[face].setdefault((a, b), []).append((share, vertex))
    if not hits:
        return faces, source, []
    kept = [row for row in range(len(faces)) if row not in hits]
    new_faces, new_source = [faces[row].tolist() for row in kept], [int(source[row]) for row in kept]
    for face, at in sorted(hits.items()):
        outline: list[int] = []
        corners = faces[face].tolist()
        for u, v in zip(corners, corners[1:] + corners[:1], strict=True):
            stops = [vertex for _, vertex in sorted(at.get((min(u, v), max(u, v)), []))]
            outline += [u, *(stops if u < v else stops[::-1])]
        for triangle in _fan(vertices, outline):
            new_faces.append(triangle)
            new_source.append(int(source[face]))
    return (
        np.array(new_faces, dtype=np.int64),
        np.array(new_source, dtype=np.int64),
        sorted(int(source[face]) for face in hits),
    )


def _fan(vertices: NDArray[np.float64], outline: list[int]) -> list[list[int]]:
    """Return triangles of a triangle with more vertices on its sides, none of them without area:
    ears are cut so that ear and rest stay fat.
    """
    triangles = []
    left = list(outline)
    while len(left) > 3:
        ears = np.array([[left[k - 1], left[k], left[(k + 1) % len(left)]] for k in range(len(left))])
        rest = [_from_first(left[k + 1 :] + left[:k]) for k in range(len(left))]
        fatness = [
            min(height, float(_heights_of(vertices, fan).max()))
            for height, fan in zip(_heights_of(vertices, ears), rest, strict=True)
        ]
        ear = int(np.argmax(fatness))
        triangles.append(ears[ear].tolist())
        del left[ear]
    return [*triangles, left]


def _from_first(outline: list[int]) -> NDArray[np.int64]:
    """Return the triangles from the first vertex of an outline to its other edges."""
    return np.array([[outline[0], a, b] for a, b in itertools.pairwise(outline[1:])])


def _turned_alike(
    vertices: NDArray[np.float64], faces: NDArray[np.int64], source: NDArray[np.int64]
) -> tuple[NDArray[np.int64], list[int]]:
    """Return the faces turned so that two at an edge run along it in opposite directions;
    the smaller area of each connected piece is turned.
    """
    neighbours: dict[int, list[tuple[int, bool]]] = defaultdict(list)
    for at in edges_of(faces).values():
        if len(at) == 2:
            (f, up), (g, also_up) = at
            neighbours[f].append((g, up == also_up))
            neighbours[g].append((f, up == also_up))
    one, other = (vertices[faces[:, k]] - vertices[faces[:, 0]] for k in (1, 2))
    area = 0.5 * lengths_of(np.cross(one, other))
    side = np.full(len(faces), -1, dtype=np.int64)
    turn = np.zeros(len(faces), dtype=np.bool_)
    for first in range(len(faces)):
        if side[first] >= 0:
            continue
        side[first] = 0
        piece, queue = [first], deque([first])
        while queue:
            f = queue.popleft()
            for g, differs in neighbours[f]:
                wanted = side[f] ^ int(differs)
                if side[g] < 0:
                    side[g] = wanted
                    piece.append(g)
                    queue.append(g)
                elif side[g] != wanted:
                    raise NavigationError(
                        f"faces {int(source[f])} and {int(source[g])} belong to a one-sided surface (a "
                        "Moebius strip): up and down cannot be told apart there; "
                        "take one of the faces out"
                    )
        rows = np.array(piece)
        turned = rows[
            side[rows] == (1 if area[rows[side[rows] == 1]].sum() <= area[rows[side[rows] == 0]].sum() else 0)
        ]
        turn[turned] = True
    faces = faces.copy()
    faces[turn] = faces[turn][:, ::-1]
    return faces, sorted({int(number) for number in source[turn]})
