"""What agents on a grid do while their path is being searched for. It needs no kernels."""

from __future__ import annotations

from dataclasses import dataclass

from crowdsim.tunable import param


@dataclass(frozen=True)
class CellWaitParameters:
    """What agents on a grid do while their path is being searched for."""

    while_waiting: str = param(
        "keep",
        "",
        choices=("keep", "guess", "previous", "stay"),
        source="[Norberg 2004], section 3.1; [Pathfinding undated], section 7 (keep)",
        why="keep holds to the path that there was, if any, and stands without one; guess walks over cells "
        "that bring nearest to the goal, to "
        "none twice; previous holds to the path that there was, and guesses without one; stay stands until "
        "the path is there",
    )
