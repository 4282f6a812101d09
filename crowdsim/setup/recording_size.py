"""How many agents come in while a run lasts, and how large its recording will be, before it runs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.recording.schema import TRAJECTORY_DTYPE, columns_kept
from crowdsim.scenario.model import Scenario
from crowdsim.setup.agents import Agents
from crowdsim.setup.due import Due
from crowdsim.setup.identity import recorded

# Of the raw bytes of a frame that are left on disk: 0.19 to 0.23 in crowds of a thousand and more, 0.27 in
# small ones; 0.5 in traced runs.
COMPRESSED_SHARE, TRACED_SHARE = 0.25, 0.5
TICK_BYTES = 190  # Of digests, timings and counts on disk, however many agents there are.
AGENT_BYTES = 54  # Of what is recorded of an agent once.
MOST_COUNTED = 200_000  # Agents that come in: later ones are taken to come as these do. Each takes 5 us.


class ToCome(NamedTuple):
    """Agents that come in while a run lasts, or the first `MOST_COUNTED` of them.

    Attributes
    ----------
    group : (k,) int32
    tick : (k,) int64
        In which they are due.
    until : int
        All that are due before this tick are there.
    """

    group: NDArray[np.int32]
    tick: NDArray[np.int64]
    until: int


def agents_to_come(scenario: Scenario) -> ToCome:
    """Return when agents are due that come in while the run lasts.

    A time is a function of the scenario, so it is the same in the run, unless there is no room.
    """
    due = {
        number: Due(group, scenario.seed, scenario.tick)
        for number, group in enumerate(scenario.groups)
        if group.arrive is not None
    }
    group, tick, now, end = list[int](), list[int](), 0, scenario.stop.ticks if due else 0
    step = max(1, round(1.0 / scenario.tick))
    while now < end and len(tick) < MOST_COUNTED:
        last = min(now + step, end)
        for number, each in due.items():
            found = each.take(last - 1)
            group += [number] * len(found)
            tick += [when for _, when in found]
        now = last
        if all(each.is_over for each in due.values()):
            now = end
    return ToCome(np.array(group, dtype=np.int32), np.array(tick, dtype=np.int64), now)


def recording_bytes(scenario: Scenario, agents: Agents, to_come: ToCome, stays_s: NDArray[np.float64]) -> int:
    """Return about how many bytes a recording will have.

    Parameters
    ----------
    scenario : Scenario
    agents : Agents
        That are there at first; they stay to the end.
    to_come : ToCome
    stays_s : (groups,) float64, s
        How long those of each group stay that come in; infinite: to the end.
    """
    record, end = scenario.record, scenario.stop.ticks
    chosen, all_groups = recorded(scenario, agents), np.ones(len(scenario.groups))
    kept, share = len(agents), all_groups
    if chosen is not None:
        kept = int(chosen.among(agents.group, np.arange(1, len(agents) + 1)).sum())
        share = chosen.groups / chosen.every
    width = {
        column.name: column.stored_dtype(record.trace).itemsize * column.width
        for column in columns_kept(has_machines=True, has_parties=True, has_connections=True)
    }
    row = TRAJECTORY_DTYPE.itemsize + sum(width[name] for name in record.columns)
    frame_bytes = row * (TRACED_SHARE if record.trace else COMPRESSED_SHARE)
    frames = kept * (end // record.ticks_per_frame + 1)
    ticks_there = np.minimum(end - to_come.tick, stays_s[to_come.group] / scenario.tick)
    own = share[to_come.group]
    later = float(np.sum(own * (frame_bytes * ticks_there / record.ticks_per_frame + AGENT_BYTES)))
    later *= end / to_come.until if to_come.until else 1.0
    return int(frame_bytes * frames + AGENT_BYTES * kept + later + end * TICK_BYTES)
