"""Which part of the plan a picture of a recording shows: all of it, or the region that was cut out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import shapely

from crowdsim.errors import RecordingError
from crowdsim.recording.reader import Recording
from crowdsim.scenario.geometry import Geometry

# Beside a region, so that one sees what is round it. Larger shows more of the plan, and the region smaller.
RIM_SHARE = 0.05  # Of its longer side.

Bounds = tuple[float, float, float, float]  # x_min, y_min, x_max, y_max, m


def bounds_of(recording: Recording, geometry: Geometry) -> Bounds:
    """Return the part of the plan that pictures of a recording show (m).

    Raises
    ------
    RecordingError
        If the region that was cut out is no area.
    """
    whole = geometry.walkable.bounds
    try:
        regions = list(_regions(recording.header.cut))
    except (shapely.errors.ShapelyError, TypeError, AttributeError):
        regions = [shapely.Point()]
    if not regions:
        return whole
    if not all(each.area > 0.0 for each in regions):  # nor where it is nan
        raise RecordingError(
            f"{recording.path}: is damaged or no recording (the region that was cut out is no area)"
        )
    left, bottom, right, top = shapely.intersection_all(regions).bounds
    rim = RIM_SHARE * max(right - left, top - bottom)
    near = shapely.box(left - rim, bottom - rim, right + rim, top + rim)
    shown = shapely.intersection(near, shapely.box(*whole))
    return shown.bounds if shown.area > 0.0 else whole


def _regions(cut: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the regions of a cut, and of those that it was cut out of."""
    while cut:
        if cut.get("region"):
            yield shapely.from_wkt(cut["region"])
        cut = cut.get("of", {})


def grounds_within(grounds: Sequence[Any], bounds: Bounds) -> list[Any]:
    """Return the ground of each floor within a part of the plan; all of it where no floor has any there."""
    parts = [shapely.intersection(each, shapely.box(*bounds)) for each in grounds]
    return parts if any(part.area > 0.0 for part in parts) else list(grounds)


def look_at(all_axes: Sequence[Any], bounds: Bounds, geometry: Geometry) -> None:
    """Let panels of plans show a part of them only; what is written beside it is left out."""
    if bounds == geometry.walkable.bounds:
        return
    left, bottom, right, top = bounds
    for axes in all_axes:
        axes.set(xlim=(left, right), ylim=(bottom, top))
