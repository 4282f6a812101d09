"""crowdsim: a headless, batch crowd simulator.

Reading order: `load_scenario` reads what is asked, `Simulation` runs it, `open_run` reads what was kept. Below these, each package has one job and
imports only what comes after it: `scenario` (what is asked) builds a `world` (what exists); `systems` step it in the order of `systems.TICK_ORDER`,
calling `navigation`, `avoidance` and `bodies` (plain functions on arrays) over `geometry`; `schedule` runs the ticks; `recording` keeps them;
`measures` turns recordings into tables; `cli` is the command.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = ["Simulation", "__version__", "load_plugin", "load_scenario", "open_run"]

if TYPE_CHECKING:
    from crowdsim.avoidance.plugins import load_plugin
    from crowdsim.recording.reader import open_run
    from crowdsim.scenario.load import load_scenario
    from crowdsim.schedule.simulation import Simulation

_WHERE = {
    "Simulation": "crowdsim.schedule.simulation",
    "load_plugin": "crowdsim.avoidance.plugins",
    "load_scenario": "crowdsim.scenario.load",
    "open_run": "crowdsim.recording.reader",
}


def __getattr__(name: str) -> Any:
    """Import the public names when they are first used: `crowdsim --help` needs none of them."""
    if name not in _WHERE:
        raise AttributeError(f"module 'crowdsim' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_WHERE[name]), name)
