"""What the mesh of a tile is made from, as bytes: two tiles of the same bits are one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.navigation.tiles.cut import TileGround
from crowdsim.navigation.tiles.numbers import SNAP_M
from crowdsim.navigation.tiles.plates import PlateCut


def bits_of_plate(cut: PlateCut) -> dict[int, bytes]:
    """Return for each tile that a plate reaches into everything that its part is made from, as bytes."""
    plate = cut.plate
    if cut.ground is None:
        about = (sorted(cut.walls), sorted(cut.seams), sorted(cut.at_walls.items()) if plate.terrain else ())
        found = {cut.tile: b"plate" + plate.ground.wkb + repr(about).encode()}
    else:
        found = bits_of_tiles(cut.ground)
    common = repr((plate.plane, plate.pace, plate.sheet)).encode()
    corners = sorted((*point, *own) for point, own in cut.corners.items())
    places = np.array([row[:2] for row in corners]).reshape(-1, 2)
    for tile in found:
        found[tile] += common
        if cut.ground is None:
            found[tile] += repr((corners, sorted(cut.gaps.items()))).encode()
        elif corners:
            low = cut.ground.corner(tile) * cut.ground.size
            near = np.all((places >= low - SNAP_M) & (places <= low + cut.ground.size + SNAP_M), axis=1)
            own = [corners[row] for row in np.flatnonzero(near).tolist()]
            points = {row[:2] for row in own}
            gaps = [
                each for each in sorted(cut.gaps.items()) if each[0][:2] in points and each[0][2:] in points
            ]
            found[tile] += repr((own, gaps)).encode()
    return found


def bits_of_tiles(cut: TileGround) -> dict[int, bytes]:
    """Return for each tile with walls or borders everything that its mesh is made from, as bytes."""
    parts: dict[int, list[bytes]] = {}

    def add(tile: NDArray[Any], kind: bytes, rows: NDArray[Any]) -> None:
        if not len(tile):
            return  # ground that lies in one tile has no borders; `np.split` would make one part of nothing
        order = np.argsort(tile, kind="stable")
        names, starts = np.unique(tile[order], return_index=True)
        for name, own in zip(names.tolist(), np.split(rows[order], starts[1:]), strict=True):
            if name >= 0:
                parts.setdefault(name, []).append(kind + own.tobytes())

    wall = np.column_stack([cut.points[cut.wall].reshape(-1, 4), cut.wall_open, cut.wall_seam])
    border = cut.points[cut.border].reshape(-1, 4)
    add(cut.wall_tile, b"wall", wall)
    for side in range(2):
        add(cut.border_tile[:, side], b"border %d" % side, border)
    if len(cut.gap):
        needed = [repr(cut.gap_tiles[gap]).encode() for gap in cut.gap_of.tolist()]
        gap = np.column_stack([cut.points[cut.gap].reshape(-1, 4), cut.gap_width])
        for tile in np.unique(cut.gap_tile).tolist():
            rows = np.flatnonzero(cut.gap_tile == tile)
            text = gap[rows].tobytes() + b";".join(needed[row] for row in rows.tolist())
            if tile >= 0:
                parts.setdefault(tile, []).append(b"gap" + text)
        _add_border_gaps(cut, gap, needed, parts)
    return {tile: b"|".join(found) for tile, found in sorted(parts.items())}


def _add_border_gaps(
    cut: TileGround, gap: NDArray[np.float64], needed: list[bytes], parts: dict[int, list[bytes]]
) -> None:
    """Add the gaps that lie on borders to both tiles."""
    tiles_of: dict[tuple[int, int], list[int]] = {}
    for (a, b), tiles in zip(cut.border.tolist(), cut.border_tile.tolist(), strict=True):
        tiles_of.setdefault((min(a, b), max(a, b)), []).extend(tiles)
    for row in np.flatnonzero(cut.gap_tile < 0).tolist():
        a, b = cut.gap[row].tolist()
        for tile in tiles_of.get((min(a, b), max(a, b)), ()):
            if tile >= 0:
                parts.setdefault(tile, []).append(b"on border" + gap[row].tobytes() + needed[row])
