"""What the systems of one tick share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.cells import Cells
from crowdsim.kernels.threads import Team
from crowdsim.old_names import Counts


@dataclass
class Tick:
    """What the systems of one tick share.

    Attributes
    ----------
    number : int
    length : float, s
    team : Team
    counts : dict of str to float
        What was counted in this tick, by name; recorded.
    cells : Cells or None
        The neighbour index, from Index on.
    reasons : record array or None
        What stood behind the choices of the agents that `record.explain` names, from Avoid on; see
        `crowdsim.avoidance.explain`.
    digests : (k,) uint64 or None
        Digests of the state at the end of the tick, from Record on.
    """

    number: int
    length: float
    team: Team
    counts: dict[str, float] = field(default_factory=Counts)
    cells: Cells | None = None
    reasons: NDArray[Any] | None = None
    digests: NDArray[np.uint64] | None = None
