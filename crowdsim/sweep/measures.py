"""What the table of a sweep says about a run.
A new measure is a new entry of what `measures_of` returns; the tables take whatever is there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crowdsim.printable import without_nan

# They differ from run to run and stand in a table of their own.
_CLOCKS = ("wall_s", "worst_tick_ms", "ms_per_tick")
# Agents one by one, which the recording has; when the run began, always 0 here; what the scenario says.
_NO_MEASURES = ("left", "begun_s", "speed_law")


def measures_of(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return the results of a run as flat names and plain values, without clock readings.

    Parameters
    ----------
    result : mapping
        The verdict, `crowdsim.simulation.verdict.Verdict.as_dict`, of a run or from a recording.

    Returns
    -------
    dict of str to str, int, float or None
        Counts by goal, reason or cause are named ``arrivals.exit``; None stands where nothing could be
        measured.
    """
    plain = {
        name: value
        for name, value in result.items()
        if name not in _CLOCKS and name not in _NO_MEASURES and name != "flows"
    }
    return _flat(
        {**plain, "flow_per_m_s": {flow["exit"]: flow["per_m_s"] for flow in result.get("flows", [])}}
    )


def flat_places(figures: Mapping[str, Any]) -> dict[str, Any]:
    """Return the figures of goals, lines and areas under flat names such as ``lines.door.flow_per_s``;
    None is no number.

    Parameters
    ----------
    figures : mapping
        Rows by ``lines`` and ``areas``, as `crowdsim.measures.report.scenario_figures` returns them, and
        perhaps ``exits``.
    """
    return {
        f"{kind}.{row[head]}.{name}": value
        for kind, head in (("exits", "goal"), ("lines", "line"), ("areas", "area"))
        for row in without_nan(figures.get(kind, []))
        for name, value in row.items()
        if name not in (head, "kind", "length_m")
    }


def clocks_of(result: Mapping[str, Any]) -> dict[str, float]:
    """Return the clock readings in a verdict, flat in the same way."""
    return _flat({name: result[name] for name in _CLOCKS if name in result})


def _flat(values: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in values.items():
        found |= (
            {f"{name}.{part}": each for part, each in value.items()}
            if isinstance(value, Mapping)
            else {name: value}
        )
    return found
