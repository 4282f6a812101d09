"""Which rows belong to one party: found anew only when agents have come or gone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdsim.scenario.model import Scenario
from crowdsim.scenario.together import NO_PARTY
from crowdsim.world.columns import AgentColumns

_NONE = np.zeros(0, dtype=np.int64)


def groups_with_leaders(scenario: Scenario) -> NDArray[np.bool_]:
    """Return (groups,) bool: in which the first of each party leads the others."""
    return np.array(
        [group.together is not None and group.together.leader for group in scenario.groups], dtype=np.bool_
    )


class PartyRows:
    """The parties of the world as it is.

    Attributes
    ----------
    members : (k,) int64
        Rows, by party and index in the group.
    first : (parties + 1,) int64
        Where in `members` each party begins.
    label : (parties, 2) int64
        Group and party.
    """

    def __init__(self) -> None:
        self._known = _NONE  # the entities among which they were found
        self.members, self.first, self.label = _NONE, np.zeros(1, dtype=np.int64), np.zeros((0, 2), np.int64)

    def find(self, agents: AgentColumns) -> bool:
        """Find them anew if agents have come or gone; return whether that is so."""
        if np.array_equal(agents.entity, self._known):
            return False
        self._known = agents.entity.copy()
        rows = np.flatnonzero(agents.party != NO_PARTY)
        rows = rows[np.lexsort((agents.index[rows], agents.party[rows], agents.group[rows]))]
        label = np.column_stack([agents.group[rows], agents.party[rows]]).astype(np.int64)
        begins = np.ones(len(rows), dtype=np.bool_)
        begins[1:] = (label[1:] != label[:-1]).any(axis=1)
        first = np.flatnonzero(begins)
        self.members, self.label = rows, label[first]
        self.first = np.append(first, len(rows)).astype(np.int64)
        return True
