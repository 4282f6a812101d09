"""Whether symmetries are broken: `crowdsim.avoidance.symmetry` says how."""

from __future__ import annotations

from dataclasses import dataclass

from crowdsim.tunable import param


@dataclass(frozen=True)
class SymmetrySwitch:
    """Whether symmetries are broken at all."""

    enabled: bool = param(
        True,
        "",
        why=(
            "off, a scene that is exactly symmetric stays so bit for bit, and agents that meet head-on stop "
            "for good: for tests of models"
        ),
    )
