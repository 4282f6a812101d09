"""Record: the state at the end of a tick is digested, and recorded if the tick has a frame;
agents that arrived in it are still there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.recording.digest import ColumnDigests, digest, run_digest
from crowdsim.saved import Arrays, Saved
from crowdsim.systems.base.own import STATE, OwnSystem
from crowdsim.systems.base.system import Setup, System, Tick, TickSystem

# Columns that the digests cover: what later ticks depend on and what readers look at. What is left out
# follows from these or never changes.
DIGEST_COLUMNS = (
    "entity", "position", "surface", "velocity", "preferred_velocity", "chosen_velocity", "next_corner",
    "activity", "goal", "path_status", "corridor_length", "diagnosis", "blocker", "is_stuck", "heading",
)  # fmt: skip


# Beside these, where machines of states say what agents do.
MACHINE_DIGESTS = ("machine_state", "waits", "errand", "draws")
# And where agents form parties.
PARTY_DIGESTS = ("waits", "party", "party_wait", "party_choice")
RIDING_DIGESTS = ("waits", "ride_step", "gate", "gate_out", "bound_for")  # where there are connections


def digest_names(
    own: Sequence[type[System]],
    *,
    has_machines: bool = False,
    has_parties: bool = False,
    has_connections: bool = False,
) -> tuple[str, ...]:
    """Return what is digested in every tick: columns, those of systems of a user's own among them,
    and what these systems keep.
    """
    more = (
        *(MACHINE_DIGESTS if has_machines else ()),
        *(PARTY_DIGESTS if has_parties else ()),
        *(RIDING_DIGESTS if has_connections else ()),
    )
    return (
        *DIGEST_COLUMNS,
        *dict.fromkeys(more),
        *(column.name for kind in own for column in kind.columns),
        *(STATE.format(kind.__name__) for kind in own),
    )


def state_digests(own: Sequence[OwnSystem]) -> NDArray[np.uint64]:
    """Return the digest of what each system keeps, (k,): of its arrays in the order of their names."""
    found = [
        run_digest(np.array([[digest(array) for _, array in sorted(each.state().items())]], dtype=np.uint64))
        for each in own
    ]
    return np.array(found, dtype=np.uint64)


class Record(TickSystem):
    """Digest columns, and what systems of a user's own keep, and hand the frame to the recorder.

    Without a recorder it digests only.

    Attributes
    ----------
    fold : int
        Digest of the run so far.
    last : (k,) uint64
        Digests after the last tick, in the order of `digest_names`.
    """

    reads = tuple(dict.fromkeys((*DIGEST_COLUMNS, *MACHINE_DIGESTS, *PARTY_DIGESTS, *RIDING_DIGESTS)))

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.recorder, self.own = setup.recorder, tuple(setup.own)
        names = digest_names(
            [each.kind for each in self.own],
            has_machines=setup.world.machines is not None,
            has_parties=setup.world.has_parties,
            has_connections=setup.world.riding is not None,
        )
        self._columns = names[: len(names) - len(self.own)]
        self._digests = ColumnDigests()
        self.fold = 0
        self.last: NDArray[np.uint64] = np.zeros(len(self._columns) + len(self.own), dtype=np.uint64)

    def process(self, tick: Tick) -> None:
        """Digest, and record the frame."""
        agents = self.world.agents
        digests = self._digests.of([getattr(agents, name) for name in self._columns], tick.team)
        tick.digests = self.last = np.concatenate([digests, state_digests(self.own)]) if self.own else digests
        self.fold = run_digest(tick.digests.reshape(1, -1), self.fold)
        if self.recorder is not None:
            self.recorder.frame(tick.number, agents)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the digest so far."""
        return {"fold": np.array([self.fold], dtype=np.uint64), "last": self.last.copy()}

    def restore(self, state: Arrays | Saved) -> None:
        """Take back what `state()` gave."""
        saved = Saved.of(state)
        self.fold, self.last = (
            int(saved.take("fold", "u8", (1,))[0]),
            saved.take("last", "u8", (len(self.last),)),
        )
