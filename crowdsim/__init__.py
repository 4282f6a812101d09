"""crowdsim: a headless, batch crowd simulator.

Reading order: `load_scenario` reads what is asked, `Simulation` runs it, `open_run` reads what was kept.
Below these, each package answers one question and imports only what comes after it (docs/architecture.md has
the list): `setup` makes a `world` (what exists) of a `scenario` (what is asked); `systems` step it in the
order of `systems.TICK_ORDER`, calling `navigation`, `avoidance` and `bodies` (plain functions on arrays) over
`geometry`; `simulation` runs the ticks; `recording` keeps them; `measures` turns recordings into tables;
`cli` is the command.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crowdsim.front_doors import names_from
from crowdsim.old_names import understand_old_names
from crowdsim.version import __version__

__all__ = ["Simulation", "__version__", "cut_run", "load_plugin", "load_scenario", "open_run"]

if TYPE_CHECKING:
    from crowdsim.avoidance.plugins import load_plugin
    from crowdsim.recording.cut import cut_run
    from crowdsim.recording.opening import open_run
    from crowdsim.scenario.load import load_scenario
    from crowdsim.simulation.simulation import Simulation

__getattr__, __dir__ = names_from(
    __name__,
    {
        "avoidance.plugins": ("load_plugin",),
        "recording.cut": ("cut_run",),
        "recording.opening": ("open_run",),
        "scenario.load": ("load_scenario",),
        "simulation.simulation": ("Simulation",),
    },
)  # `crowdsim --help` needs none of them
understand_old_names()
