"""What a scenario wants recorded: rates that fit the tick, columns that exist, agents that exist,
a size that fits on a disk.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from crowdsim.old_names import COLUMNS
from crowdsim.scenario import schema
from crowdsim.scenario.area_reader import AreaReader
from crowdsim.scenario.limits import MAX_RECORDING_BYTES
from crowdsim.scenario.model import Group, Record, Stop
from crowdsim.scenario.parameters import Chosen
from crowdsim.scenario.tree import Path, Problems, listed, suggestion

# frames a second where the scenario does not say: enough for speeds and flows, a tenth of the bytes of every
# tick at 0.01 s
USUAL_RATE = 10.0
RATE_TOLERANCE = 1e-5  # relative; so that the six digits of a rate in our own messages are accepted
_REASON_BYTES = 12 * 8
# of an agent in a tick: some ten neighbours and two walls, what was preferred and chosen; for models that do
# not say
_USUAL_REASONS = 14
_ROW_BYTES = 8 + 8 + 3 * 8  # frame, id, x, y, z


def recordable_columns(
    *, has_machines: bool = True, has_parties: bool = True, has_connections: bool = True
) -> dict[str, int]:
    """Return the columns that a recording can hold beside the position,
    and the bytes that each takes in a row, in the order of the recording.

    Parameters
    ----------
    has_machines : bool
        Whether machines of states say what agents do.
    has_parties : bool
        Whether agents form parties.
    has_connections : bool
        Whether there are connections.
    """
    from crowdsim.recording.schema import columns_kept

    columns = columns_kept(
        has_machines=has_machines, has_parties=has_parties, has_connections=has_connections
    )
    return {column.name: np.dtype(column.dtype).itemsize * column.width for column in columns}


def resolve_record(
    shape: schema.RecordShape,
    tick: float,
    stop: Stop | None,
    groups: Sequence[Group],
    avoidance: Chosen | None,
    reader: AreaReader,
    problems: Problems,
    *,
    has_connections: bool = False,
) -> Record:
    """Return what is recorded; what cannot be is added to the problems.

    Parameters
    ----------
    shape : RecordShape
    tick : float, s
    stop : Stop or None
        None where it has problems.
    groups : sequence of Group
    avoidance : Chosen or None
        The model of groups that have none of their own; None where it has problems.
    reader : AreaReader
    problems : Problems
    has_connections : bool
    """
    ticks_per_frame = _ticks_per_frame(shape.rate, tick, problems)
    kept = recordable_columns(
        has_machines=any(group.behaviour for group in groups),
        has_parties=any(group.together is not None for group in groups),
        has_connections=has_connections,
    )
    columns = _columns(shape.columns, kept, problems)
    every = 1
    chosen: str | tuple[int | str, ...] = "all"
    if isinstance(shape.agents, schema.EveryShape):
        every = shape.agents.every
    elif isinstance(shape.agents, list):
        chosen = _agents("agents", shape.agents, groups, problems)
    region = reader.united(shape.region, ("record", "region")) if shape.region is not None else None
    explain = _agents("explain", shape.explain, groups, problems)
    record = Record(
        1.0 / (ticks_per_frame * tick), ticks_per_frame, columns, chosen, every, region, shape.trace, explain
    )
    if stop is not None:
        _check_size(record, stop, groups, problems)
        _check_reasons(record, stop, groups, avoidance, problems)
    return record


def _ticks_per_frame(rate: float | None, tick: float, problems: Problems) -> int:
    if rate is None:
        return max(1, math.ceil(1.0 / (USUAL_RATE * tick) - 1e-9))
    exact = 1.0 / (rate * tick)
    nearest = max(1, round(exact))
    if abs(exact - nearest) <= RATE_TOLERANCE * nearest:
        return nearest
    lower, higher = math.ceil(exact), math.floor(exact)
    choices = [
        f"{1.0 / (ticks * tick):.6g} (every {_ordinal(ticks)} tick)"
        for ticks in (lower, higher)
        if ticks >= 1
    ]
    problems.add(
        ("record", "rate"),
        f"{rate:g} frames a second leave {exact:.4g} ticks of {tick:g} s between two frames, "
        "which is not a whole number",
        f"The nearest {'rates are' if len(choices) > 1 else 'rate is'} {' and '.join(choices)}.",
    )
    return nearest


def _ordinal(number: int) -> str:
    if number == 1:
        return "single"
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def _columns(wanted: str | list[str], known: dict[str, int], problems: Problems) -> tuple[str, ...]:
    if isinstance(wanted, str):
        return tuple(known)
    given, wanted = wanted, [COLUMNS.get(name, name) for name in wanted]
    for index, name in enumerate(wanted):
        path = ("record", "columns", index)
        if given[index] != name:
            problems.note(path, f"{given[index]} is called {name} now")
        if name in wanted[:index]:
            problems.add(path, f'"{name}" is listed twice', "Keep one of the two.")
        elif name not in known:
            always = name in ("entity", "id", "position", "x", "y", "z")
            problems.add(
                path,
                f'"{name}" is no column that can be chosen',
                (
                    "It is in every row anyway; leave it out."
                    if always
                    else f"{suggestion(name, known)} Known are {listed(known, most=30)}.".strip()
                ),
            )
    return tuple(name for name in known if name in wanted)


def _agents(
    key: str, wanted: Sequence[int | str], groups: Sequence[Group], problems: Problems
) -> tuple[int | str, ...]:
    check_agents(("record", key), wanted, groups, problems)
    return tuple(sorted(set(wanted), key=lambda item: (isinstance(item, str), item)))


def check_agents(
    above: Path, wanted: Sequence[int | str], groups: Sequence[Group], problems: Problems
) -> None:
    """Add a problem for each of some names of groups and ids of agents that nobody has;
    `above` is the path of their list.
    """
    names = [group.name for group in groups]
    ids = {agent.id for group in groups for agent in group.listed if agent.id is not None}
    for index, item in enumerate(wanted):
        path = (*above, index)
        if isinstance(item, str) and item not in names:
            problems.add(
                path,
                f'there is no group "{item}"',
                f"{suggestion(item, names)} Known are {listed(names)}.".strip() if names else "",
            )
        elif isinstance(item, int) and item not in ids:
            problems.add(
                path,
                f"no agent has the id {item}",
                f"Known are {listed(map(str, sorted(ids)))}."
                if ids
                else "No agent of this scenario has an id; name groups instead.",
            )


def _agents_in(chosen: str | Sequence[int | str], groups: Sequence[Group]) -> int:
    """Return how many agents are named at most: those of the groups, and the ids."""
    return sum(group.count for group in groups if group.name in chosen) + len(chosen)


def _check_size(record: Record, stop: Stop, groups: Sequence[Group], problems: Problems) -> None:
    agents = sum(group.count for group in groups)
    recorded = agents if record.agents == "all" else _agents_in(record.agents, groups)
    width = recordable_columns()
    row = _ROW_BYTES + sum(width[name] for name in record.columns)
    frames = stop.ticks // record.ticks_per_frame + 1
    size = frames * -(-recorded // record.every) * row
    if size > MAX_RECORDING_BYTES:
        rows = f"{frames:,} frames of {-(-recorded // record.every):,} agents"
        problems.add(
            ("record",),
            (
                f"{rows} are up to {size / 2**30:,.0f} GiB, but there may be at most "
                f"{MAX_RECORDING_BYTES / 2**30:,.0f} GiB"
            ),
            "Record fewer frames (rate), columns (columns) or agents (agents: {every: 10}), or stop earlier.",
        )


def _check_reasons(
    record: Record, stop: Stop, groups: Sequence[Group], avoidance: Chosen | None, problems: Problems
) -> None:
    agents, size = 0, 0
    for group in groups:
        named = (
            group.count
            if group.name in record.explain
            else sum(agent.id in record.explain for agent in group.listed if agent.id is not None)
        )
        model = group.avoidance or avoidance
        agents += named
        size += (
            stop.ticks * named * (_reason_rows(model) if named and model is not None else 0) * _REASON_BYTES
        )
    if size > MAX_RECORDING_BYTES:
        message = (
            f"the reasons of {agents:,} agent{'s' if agents > 1 else ''} in {stop.ticks:,} ticks are some "
            f"{size / 2**30:,.0f} GiB"
        )
        problems.add(
            ("record", "explain"),
            f"{message}, but there may be at most {MAX_RECORDING_BYTES / 2**30:,.0f} GiB",
            "Explain fewer agents.",
        )


def _reason_rows(model: Chosen) -> int:
    """Return how many reasons an agent under a model has in a tick, some."""
    from crowdsim.avoidance.registry import model_named, origin_of

    kind: Any = model_named(model.name)
    if origin_of(model.name) is not None or not hasattr(kind, "reason_rows"):
        return _USUAL_REASONS
    return int(kind(model.parameters(kind.Parameters)).reason_rows())
