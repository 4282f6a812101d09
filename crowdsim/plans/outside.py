"""Ground outside exits: agents that have left go on in sight of those behind, so that a crowd before a door slows down as before a real one.

An exit at which agents vanish lets too many through: none stands before those that come. In a room of 10 x 8 m with a hundred people and an opening of
1.2 m, under Weidmann's law, 3.1 persons a second and metre got out where they vanished in the opening, 2.4 with 2 m of ground behind it, 2.2 with 3 m.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import shapely

from crowdsim.measures.exit_flow import openings_of

LENGTH_M = 3.0  # Of the ground outside: the law of speed and density looks at a disc 2.1 m ahead, with a radius of 1.2 m.
EXIT_M = 0.5  # The last of it is the exit.
WIDEST_M = 10.0  # Of an opening that goes on as a passage; nobody queues before wider ones.
THICKEST_M = 0.6  # How far ground may reach into the wall behind an exit.


def led_outside(ground: Any, exits: Sequence[Any]) -> tuple[Any, list[Any], int]:
    """Continue the ground behind exits by straight passages at whose ends people leave.

    Parameters
    ----------
    ground : shapely Polygon or MultiPolygon
    exits : sequence of shapely Polygon

    Returns
    -------
    ground : shapely Polygon or MultiPolygon
        With the passages.
    exits : list of shapely Polygon
        In the same order; as they were where other ground lies behind them, or where they are not the opening of a wall.
    count : int
        Of the passages.
    """
    passages: list[Any] = []
    moved = list(exits)
    for number, area in enumerate(exits):
        others = [ground, *passages, *(other for index, other in enumerate(exits) if index != number)]
        for passage, end in _passages(ground, area):
            if _is_free(passage, area, others):
                passages.append(passage)
                moved[number] = end
                break
    return (shapely.union_all([ground, *passages]) if passages else ground), moved, len(passages)


def _passages(ground: Any, area: Any) -> list[tuple[Any, Any]]:
    """Return passages to either side of the only opening between ground and an exit, each with its end."""
    lines = openings_of(ground, area)
    if len(lines) != 1 or lines[0].is_closed:
        return []
    first, last = np.asarray(lines[0].coords[0]), np.asarray(lines[0].coords[-1])
    width = float(np.hypot(*(last - first)))
    if not 0.1 < width < WIDEST_M:
        return []
    along = (last - first) / width
    found = []
    for across in (np.array([-along[1], along[0]]), np.array([along[1], -along[0]])):
        far, near = LENGTH_M * across, (LENGTH_M - EXIT_M) * across
        corners = [first + far, last + far]
        found.append((shapely.Polygon([first, last, *reversed(corners)]), shapely.Polygon([first + near, last + near, *reversed(corners)])))
    return found


def _is_free(passage: Any, area: Any, others: Sequence[Any]) -> bool:
    """Return whether nothing lies where a passage would lead but the exit itself and the ground inside the wall behind it."""
    beyond = shapely.difference(passage, shapely.buffer(area, 1e-3))
    around = shapely.buffer(area, THICKEST_M)
    for other in others:
        parts = shapely.get_parts(shapely.intersection(other, beyond))
        if any(not around.contains(part) for part in parts if not part.is_empty):
            return False
    return bool(beyond.area > 0.5 * passage.area)
