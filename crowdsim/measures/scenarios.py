"""The scenario that a recorded run was made from:
its ground, its goals, and the lines and areas that have names in it.
"""

from __future__ import annotations

from typing import Any

import shapely

from crowdsim.errors import CrowdsimError, RecordingError
from crowdsim.measures.areas import Area, box_area
from crowdsim.measures.lines import Line
from crowdsim.measures.tracks import Tracks
from crowdsim.scenario.load import scenario_of_run
from crowdsim.scenario.measured import off_ground
from crowdsim.scenario.model import Scenario
from crowdsim.scenario.shapes import GRID_M, cleaned
from crowdsim.scenario.tree import suggestion


def scenario_of(tracks: Tracks) -> Scenario:
    """Return the scenario of a recorded run; where models came from plug-ins,
    all agents have the model `none` in their place.

    Parameters
    ----------
    tracks : Tracks

    Raises
    ------
    RecordingError
        If it is of measured people.
    """
    if tracks.header is None:
        raise RecordingError(f"{tracks.name}: is of measured people, and holds no scenario.")
    return scenario_of_run(tracks.header, tracks.name)


def named_areas(tracks: Tracks) -> dict[str, Any]:
    """Return the areas that have a name in the scenario:
    exits and regions, areas that open and close, obstacles, measured areas; empty for measured people.

    Parameters
    ----------
    tracks : Tracks

    Returns
    -------
    dict of str to shapely Polygon or MultiPolygon
    """
    if tracks.header is None:
        return {}
    scenario = scenario_of(tracks)
    found = {each.name: each.polygon for each in scenario.geometry.obstacles if each.name}
    found |= {each.name: each.area for each in scenario.geometry.areas}
    found |= {each.name: each.area for each in scenario.measures if each.area is not None}
    return found | {
        goal.name: goal.area for goal in scenario.goals if goal.area is not None and not goal.is_inline
    }


def measured_places(tracks: Tracks) -> tuple[list[Line], list[Area]]:
    """Return the lines and areas that the scenario of a recorded run names under `measures`.

    Parameters
    ----------
    tracks : Tracks
        Of measured people there are none.
    """
    if tracks.header is None:
        return [], []
    scenario = scenario_of(tracks)
    grounds = scenario.geometry.grounds
    return (
        [Line(each.line, each.name, each.layer) for each in scenario.measures if each.line is not None],
        [
            # densities are those of the ground on its floor
            Area(
                cleaned(shapely.intersection(each.area, grounds[max(0, each.layer)], grid_size=GRID_M)),
                each.name,
                each.layer,
            )
            for each in scenario.measures
            if each.line is None
        ],
    )


def line_from_text(text: str, tracks: Tracks) -> Line:
    """Return a measurement line from ``x1,y1,x2,y2`` (m, and more points for bends), with a name in front as
    in ``door=10,3,10,5``; or the outline of an area that the scenario names, over which one goes forwards by
    entering it.

    Raises
    ------
    CrowdsimError
        If it is neither.
    """
    name, numbers = _numbers(text)
    if numbers is None:
        area = _named(text, tracks, "line", "x1,y1,x2,y2")
        if area.geom_type != "Polygon":
            raise CrowdsimError(
                f'The area "{text}" has several parts. Give a line by its points: x1,y1,x2,y2.'
            )
        # inside on the right: to come in is to go forwards
        outline = shapely.orient_polygons(area, exterior_cw=True).exterior.coords[:]
        return Line(tuple((x, y) for x, y, *_ in outline), name)
    if len(numbers) < 4 or len(numbers) % 2:
        raise CrowdsimError(
            f'The line "{text}" has {len(numbers)} number{"s" if len(numbers) > 1 else ""}, but takes '
            "x1,y1,x2,y2, and two more for each bend."
        )
    line = Line(tuple(zip(numbers[::2], numbers[1::2], strict=True)), name)
    if tracks.ground is not None and (told := off_ground(shapely.LineString(line.points), tracks.ground)):
        raise CrowdsimError(f"{tracks.name}: --line {text}: {told}.")
    return line


def area_from_text(text: str, tracks: Tracks, what: str = "area") -> Area:
    """Return a measurement area from ``xmin,ymin,xmax,ymax`` (m), from three corners or more as
    ``x1,y1,x2,y2,x3,y3``, or one that the scenario names; with a name in front as in ``bridge=0,0,4,2``.
    Messages call it `what`.

    Raises
    ------
    CrowdsimError
        If it is none of these.
    """
    name, numbers = _numbers(text)
    if numbers is None:
        return Area(_named(text, tracks, what, "xmin,ymin,xmax,ymax"), name)
    if len(numbers) == 4:
        return box_area(numbers[0], numbers[1], numbers[2], numbers[3], name)
    if len(numbers) < 6 or len(numbers) % 2:
        counted = f"{len(numbers)} number{'s' if len(numbers) > 1 else ''}"
        raise CrowdsimError(
            f'The {what} "{text}" has {counted}, but takes xmin,ymin,xmax,ymax, or x and y of three corners '
            "or more."
        )
    return Area(shapely.Polygon(list(zip(numbers[::2], numbers[1::2], strict=True))), name)


def _numbers(text: str) -> tuple[str, list[float] | None]:
    """Return the name of a line or area, and its numbers; None where it has none."""
    name, equals, rest = text.partition("=")
    parts = (rest if equals else text).split(",")
    try:
        return (name.strip() or text if equals else text), [float(part) for part in parts]
    except ValueError:
        if equals or len(parts) > 3:
            raise CrowdsimError(f'"{text}" has something between its commas that is no number.') from None
        return text, None


def _named(name: str, tracks: Tracks, what: str, form: str) -> Any:
    known = named_areas(tracks)
    if name in known:
        return known[name]
    names = (
        f"{suggestion(name, known)} Known are {', '.join(sorted(known))}.".strip()
        if known
        else "It names none."
    )
    if tracks.header is None:
        raise CrowdsimError(
            f'"{name}" is no {what}: measured people have no scenario with names in it. Give numbers: {form}.'
        )
    raise CrowdsimError(f'The scenario names no area "{name}". {names} Or give numbers: {form}.')
