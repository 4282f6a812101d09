"""crowdsim: a headless, batch crowd simulator.

Reading order: `load_scenario` reads what is asked, `Simulation` runs it, `open_run` reads what was kept. Below these, each package has one job and
imports only what comes after it: `scenario` (what is asked) builds a `world` (what exists); `systems` step it in the order of `systems.TICK_ORDER`,
calling `navigation`, `avoidance` and `bodies` (plain functions on arrays) over `geometry`; `simulation` runs the ticks; `recording` keeps them;
`measures` turns recordings into tables; `cli` is the command.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crowdsim.front_doors import names_from
from crowdsim.old_names import understand_old_names

__version__ = "0.1.0"
__all__ = ["Simulation", "__version__", "load_plugin", "load_scenario", "open_run"]

if TYPE_CHECKING:
    from crowdsim.avoidance.plugins import load_plugin
    from crowdsim.recording.reader import open_run
    from crowdsim.scenario.load import load_scenario
    from crowdsim.simulation.simulation import Simulation

__getattr__ = names_from(__name__, {
    "avoidance.plugins": ("load_plugin",),
    "recording.reader": ("open_run",),
    "scenario.load": ("load_scenario",),
    "simulation.simulation": ("Simulation",),
})  # `crowdsim --help` needs none of them
understand_old_names()
