"""How long a sweep will take and how much it will write, before it runs: from runs of it that are done, else at most so much."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from crowdsim.sweep.folder import FINISHED
from crowdsim.sweep.plan import Plan, Run

US_PER_AGENT_TICK = 40.0  # Of small crowds with any model and a recording, one thread of a 2.5 GHz core (31 to 61 in docs/learn/models.md); large ones less.
MS_PER_TICK = 0.5  # What a tick of a small scene takes however few agents there are.
BYTES_PER_ROW = 30.0  # Of an agent in a frame, all columns, compressed (docs/reference/recordings.md has 22 to 41).
BYTES_PER_TICK = 150.0  # Digests and timings.


@dataclass(frozen=True)
class Estimate:
    """What the runs that are waiting will take.

    Attributes
    ----------
    seconds : float
        Of one worker.
    size_mb : float
        Of their recordings.
    measured_on : int
        Finished runs that the time was taken from; 0: it is what they take if all agents stay until the end.
    """

    seconds: float
    size_mb: float
    measured_on: int


def estimate(plan: Plan, todo: Sequence[Run], known: Sequence[Mapping[str, Any]], *, record: bool) -> Estimate:
    """Return what runs will take.

    Parameters
    ----------
    plan : Plan
    todo : sequence of Run
    known : sequence of dict
        Results of other runs of the sweep.
    record : bool

    Returns
    -------
    Estimate
    """
    most, ticks, rows = 0.0, 0.0, 0.0
    for run in todo:
        agents, run_ticks, frames = plan.loads[run.variant]
        most += run_ticks * (agents * US_PER_AGENT_TICK / 1e6 + MS_PER_TICK / 1e3)
        ticks, rows = ticks + run_ticks, rows + agents * frames
    taken = [result["timings"]["run_s"] for result in known if result["status"] == FINISHED and "run_s" in result["timings"]]
    seconds = len(todo) * sum(taken) / len(taken) if taken else most
    return Estimate(seconds, (rows * BYTES_PER_ROW + ticks * BYTES_PER_TICK) / 1e6 if record else 0.0, len(taken))
