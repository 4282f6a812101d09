"""The grid of cells by which points are located: which polygons come near which cell."""

# mypy: allow-untyped-defs

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.kernels.decorator import inlined_kernel, kernel


class Cells(NamedTuple):
    """A uniform grid of cells.

    Attributes
    ----------
    origin : (2,) float64, m
    size : float, m
    shape : (2,) int64
        Columns and rows.
    """

    origin: NDArray[np.float64]
    size: float
    shape: NDArray[np.int64]


def cells_over(points: NDArray[np.float64], polygons: int) -> Cells:
    """Return cells over points, (n, 2) m: some two for each polygon, whatever the extent."""
    origin, extent = points.min(axis=0), np.ptp(points, axis=0)
    size = float(max(np.sqrt(extent[0] * extent[1] / (2.0 * polygons)), extent.max() / 2000.0, 1e-3))
    return Cells(origin, size, np.maximum(np.ceil(extent / size), 1.0).astype(np.int64))


@kernel
def list_bins(vertex, polygon_start, edge_vertex, edge_end, origin, size, shape, margin):
    """List for each cell of a grid the polygons that come within `margin` of it.

    Parameters
    ----------
    vertex : (nv, 3) float64, m
    polygon_start : (np + 1,) int32
    edge_vertex, edge_end : (ne,) int32
    origin : (2,) float64, m
    size : float, m
    shape : (2,) int64
        Columns and rows.
    margin : float, m

    Returns
    -------
    bin_start : (columns * rows + 1,) int64
    bin_polygon : (k,) int32
        The polygons of the cell in column i and row j are ``bin_polygon[bin_start[c]:bin_start[c + 1]]`` with
        ``c = j * columns + i``, ascending. Twin: `tests/reference/mesh.py`.
    """
    columns, rows = shape[0], shape[1]
    start = np.zeros(columns * rows + 1, dtype=np.int64)
    out = np.empty(0, dtype=np.int32)
    for is_filling in range(2):
        for polygon in range(polygon_start.size - 1):
            low, high = np.inf, -np.inf
            for edge in range(polygon_start[polygon], polygon_start[polygon + 1]):
                low, high = min(low, vertex[edge_vertex[edge], 1]), max(high, vertex[edge_vertex[edge], 1])
            for row in range(
                _cell(low - margin - origin[1], size, rows), _cell(high + margin - origin[1], size, rows) + 1
            ):
                bottom = origin[1] + row * size - margin if row > 0 else -np.inf
                top = origin[1] + (row + 1) * size + margin if row < rows - 1 else np.inf
                left, right = np.inf, -np.inf
                for edge in range(polygon_start[polygon], polygon_start[polygon + 1]):
                    ax, ay, bx, by = (
                        vertex[edge_vertex[edge], 0],
                        vertex[edge_vertex[edge], 1],
                        vertex[edge_end[edge], 0],
                        vertex[edge_end[edge], 1],
                    )
                    for end in range(2):
                        # The part of the edge in this row of cells ends at the edge's own end or where it
                        # leaves the row.
                        x, y, tx, ty = (ax, ay, bx, by) if end == 0 else (bx, by, ax, ay)
                        if (y < bottom and ty < bottom) or (y > top and ty > top):
                            continue
                        if y < bottom:
                            x += (tx - x) * (bottom - y) / (ty - y)
                        elif y > top:
                            x += (tx - x) * (top - y) / (ty - y)
                        left, right = min(left, x), max(right, x)
                if left > right:
                    continue
                for column in range(
                    _cell(left - 2.0 * margin - origin[0], size, columns),
                    _cell(right + 2.0 * margin - origin[0], size, columns) + 1,
                ):
                    cell = row * columns + column
                    if is_filling == 1:
                        out[start[cell]] = polygon
                        start[cell] += 1
                    else:
                        start[cell + 1] += 1
        if is_filling == 0:
            for cell in range(columns * rows):
                start[cell + 1] += start[cell]
            out = np.empty(start[columns * rows], dtype=np.int32)
    for cell in range(columns * rows, 0, -1):  # each cell's start has moved to its end
        start[cell] = start[cell - 1]
    start[0] = 0
    return start, out


@inlined_kernel
def _cell(offset, size, count):
    """Return the row or column of cells at an offset from the grid's origin;
    those outside belong to the first and the last.
    """
    return min(max(np.int64(np.floor(offset / size)), 0), count - 1)
