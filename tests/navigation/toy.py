"""The planner of docs/examples/straight_line.py, without registering it."""

import importlib.util

from crowdsim.navigation.planning import registry
from tests.crowds import ROOT

FILE = ROOT / "docs" / "examples" / "straight_line.py"


def straight_line():
    """Return the class of the planner."""
    spec = importlib.util.spec_from_file_location("straight_line", FILE)
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    finally:
        registry.forget("straight-line")
    return module.StraightLine
