"""Record: the state at the end of a tick is digested, and kept if the tick has a frame; those who arrived in it are still there."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from crowdsim.recording.digest import column_digests, run_digest
from crowdsim.saved import Arrays, Saved
from crowdsim.systems.base.system import System, Tick
from crowdsim.world.columns import AgentColumns
from crowdsim.world.world import World

# Columns that the digests cover: what later ticks depend on and what readers look at. What is left out follows from these or never changes.
DIGEST_COLUMNS = (
    "entity", "position", "surface", "velocity", "preferred_velocity", "chosen_velocity", "next_corner", "activity", "goal", "path_status",
    "corridor_length", "diagnosis", "blocker", "is_stuck", "heading",
)  # fmt: skip


class KeepsFrames(Protocol):
    """What `Record` gives frames to."""

    def frame(self, tick: int, agents: AgentColumns) -> None:
        """Keep a frame if this tick has one."""


class Record(System):
    """Digest every column and hand the frame to the recorder.

    Parameters
    ----------
    world : World
    recorder : KeepsFrames or None
        None: digests only.

    Attributes
    ----------
    fold : int
        Digest of the run so far.
    last : (k,) uint64
        Digests of the columns after the last tick, in the order of `DIGEST_COLUMNS`.
    """

    reads = DIGEST_COLUMNS

    def __init__(self, world: World, recorder: KeepsFrames | None) -> None:
        super().__init__(world)
        self.recorder = recorder
        self.fold = 0
        self.last: NDArray[np.uint64] = np.zeros(len(DIGEST_COLUMNS), dtype=np.uint64)

    def process(self, tick: Tick) -> None:
        """Digest and keep."""
        agents = self.world.agents
        tick.digests = self.last = column_digests({name: getattr(agents, name) for name in DIGEST_COLUMNS})
        self.fold = run_digest(tick.digests.reshape(1, -1), self.fold)
        if self.recorder is not None:
            self.recorder.frame(tick.number, agents)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the digest so far."""
        return {"fold": np.array([self.fold], dtype=np.uint64), "last": self.last.copy()}

    def restore(self, state: Arrays | Saved) -> None:
        """Take back what `state()` gave."""
        saved = Saved.of(state)
        self.fold, self.last = int(saved.take("fold", "u8", (1,))[0]), saved.take("last", "u8", (len(DIGEST_COLUMNS),))
