"""One choice of one agent, out of what a recording explains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.avoidance.explain import Reason
from crowdsim.errors import CrowdsimError, RecordingError
from crowdsim.recording.reader import Recording

_BLOCK_ROWS = 65536
_MOST_NAMES = 12  # Agents that a message lists.


@dataclass(frozen=True)
class ExplainedChoice:
    """What stood behind one velocity.

    Attributes
    ----------
    label : str
        What a user calls the agent.
    entity, tick : int
    time_s : float, s
        When the tick ended.
    group : str
    maximum_speed : float, m/s
    reasons : (k,) `EXPLANATION_DTYPE`
        As `crowdsim.avoidance.explain` describes them.
    labels : dict of int to str
        What a user calls each agent, by entity.
    """

    label: str
    entity: int
    tick: int
    time_s: float
    group: str
    maximum_speed: float
    reasons: NDArray[Any]
    labels: dict[int, str]


def choice_at(recording: Recording, agent: str, time_s: float) -> ExplainedChoice:
    """Return the choice of an agent in the tick that ended at a time.

    Parameters
    ----------
    recording : Recording
    agent : str
        As tables and messages name it: its explicit id, ``7`` or ``#7``, or ``group[index]``; or
        ``entity=number``.
    time_s : float, s
        Rounded to the nearest tick.

    Raises
    ------
    CrowdsimError
        If nobody, or not this agent, is explained, or it chose nothing at that time.
    RecordingError
        If the recording is damaged.
    """
    roster, labels = recording.roster(), recording.labels()
    if not recording.layout.explain:
        way_out = f"Run the scenario again with --set 'record.explain=[{agent.split('[')[0]}]'."
        raise CrowdsimError(f"{recording.path}: nobody's choices are explained in it. {way_out}")
    entity = _entity(recording, agent, labels)
    tick_s = recording.header.tick_s
    last = recording.commit.last_tick
    tick = round(time_s / tick_s) if np.isfinite(time_s) else -1
    if not 1 <= tick <= last:
        raise CrowdsimError(
            f"{recording.path}: there is no choice at {time_s:g} s; the run has ticks from {tick_s:g} to "
            f"{last * tick_s:g} s."
        )
    rows = _rows_of_tick(recording, tick)
    reasons = rows[rows["entity"] == entity]
    if not len(reasons):
        raise CrowdsimError(f"{recording.path}: {_when(recording, entity, labels[entity], time_s, tick_s)}")
    if (
        any(np.count_nonzero(reasons["kind"] == kind) != 1 for kind in (Reason.PREFERRED, Reason.CHOSEN))
        or not np.isfinite(reasons["x"] + reasons["y"]).all()
    ):
        raise RecordingError(
            f"{recording.path}: is damaged (what it explains of tick {tick} is not one choice)"
        )
    own = roster[roster["entity"] == entity].iloc[0]
    return ExplainedChoice(
        labels[entity],
        entity,
        tick,
        tick * tick_s,
        str(own["group_name"]),
        float(own["maximum_speed"]),
        reasons,
        labels,
    )


def _entity(recording: Recording, agent: str, labels: dict[int, str]) -> int:
    number = agent.removeprefix("entity=")
    if number != agent and number.isdecimal() and int(number) in labels:
        return int(number)
    for entity, label in labels.items():
        if label in (agent, f"#{agent}"):
            return entity
    some = list(labels.values())[:_MOST_NAMES]
    more = f" and {len(labels) - len(some):,} more" if len(labels) > len(some) else ""
    raise CrowdsimError(
        f'{recording.path}: there is no agent "{agent}". Name one by its id, as group[index], or as '
        f"entity=number: {', '.join(some)}{more}."
    )


def _rows_of_tick(recording: Recording, tick: int) -> NDArray[Any]:
    """Return the reasons of a tick; ticks ascend, so that few rows are read."""
    first, stop = (recording.first_from("explanations", each) for each in (tick, tick + 1))
    return recording.table("explanations", first, stop)


def _when(recording: Recording, entity: int, label: str, time_s: float, tick_s: float) -> str:
    """Return why an agent has no choice at a time, and when it has."""
    rows = recording.commit.explanations
    explained: set[int] = set()
    ticks: list[NDArray[np.int64]] = []
    for start in range(0, rows, _BLOCK_ROWS):
        block = recording.table("explanations", start, start + _BLOCK_ROWS)
        explained.update(np.unique(block["entity"]).tolist())
        ticks.append(np.unique(block["tick"][block["entity"] == entity]))
    own = np.unique(np.concatenate(ticks)) if ticks else np.zeros(0, dtype=np.int64)
    if not len(own):
        return (
            f"the choices of {label} are not explained in it, but those of {len(explained):,} others. Name "
            f"{label} or its group in record.explain."
        )
    spans = np.split(own, np.flatnonzero(np.diff(own) > 1) + 1)
    shown = ", ".join(f"{span[0] * tick_s:g} to {span[-1] * tick_s:g} s" for span in spans[:_MOST_NAMES]) + (
        " and later" if len(spans) > _MOST_NAMES else ""
    )
    return f"{label} chose no velocity at {time_s:g} s (it waited, stood or was gone); it did from {shown}."
