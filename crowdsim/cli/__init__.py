"""The ``crowdsim`` command: one file a verb, loaded when the verb is used.

A verb is a module of this package with a function of the same name that parses (by typer annotations), calls the library, prints, and returns an exit
code. `VERBS` lists them with the line that ``crowdsim --help`` shows, so that the help needs none of them. What verbs share is in `crowdsim.cli.shell`.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from typing import NamedTuple

_usual_format = warnings.formatwarning


class Verb(NamedTuple):
    """One verb: the function `function` of module `crowdsim.cli.<module>`; `about` is its line in the help."""

    module: str
    function: str
    about: str


VERBS = {
    "bench": Verb("bench", "bench", "Measure steps beside those of other simulators, by turns."),
    "bless": Verb("bless", "bless", "Keep a run as a golden recording, for regression tests."),
    "budget": Verb("budget", "budget", "Show where the time of ticks went, and who broke the budget."),
    "compare": Verb("compare", "compare", "Compare two recordings: bit for bit, by places, or on the whole."),
    "deadlocks": Verb("deadlocks", "deadlocks", "Show who was stuck, since when, behind whom, and why."),
    "doctor": Verb("doctor", "doctor", "Show versions, threads, HDF5 and the cache, and what is wrong with them."),
    "export": Verb("export", "export", "Write a recording as CSV or for JuPedSim's tools."),
    "fork": Verb("fork", "fork", "Go on from a checkpoint with other values."),
    "info": Verb("info", "info", "Show what a recording holds."),
    "list": Verb("list", "list_scenarios", "List the scenarios in a folder."),
    "measure": Verb("measure", "measure", "Measure a run: ways, exits, collisions, lines, areas."),
    "migrate": Verb("migrate", "migrate", "Bring a recording of an older format to today's."),
    "models": Verb("models", "models", "Compare avoidance models on one scene, or list them."),
    "new": Verb("new", "new", "Write a commented, working scenario to start from."),
    "parameters": Verb("parameters", "parameters", "Show every tunable number with its unit, range, reason and source."),
    "plot": Verb("plot", "plot", "Draw a run: trails, densities, arrivals, speeds, budget."),
    "recover": Verb("recover", "recover", "Make a whole recording of one that was cut off."),
    "resume": Verb("resume", "resume", "Go on with a run that was stopped, from its last checkpoint."),
    "run": Verb("run", "run", "Run a scenario, record it, and say what it came to."),
    "schema": Verb("schema", "schema", "Print the JSON Schema of scenarios, for editors."),
    "sweep": Verb("sweep", "sweep", "Run all combinations of values and seeds, and put what they come to into one table."),
    "tick": Verb("tick", "tick", "Show the systems of the tick in their order."),
    "validate": Verb("validate", "validate", "Check a scenario without running it."),
    "verify": Verb("verify", "verify", "Run a recording's scenario again and compare."),
    "view": Verb("view", "view", "Write a run as one page to look at in a browser."),
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command with `arguments` (default: those of the process) and leave with its exit code."""
    from crowdsim.cli.app import build_app, usage_error
    from crowdsim.cli.shell import show_fault, show_warning

    warnings.formatwarning = _as_line
    if arguments is None:
        sys.excepthook, warnings.showwarning = show_fault, show_warning
    # No `list(...)` here: once the verb of that name is loaded, its module hides the builtin in this package.
    given = [*(sys.argv[1:] if arguments is None else arguments)]
    try:
        code = build_app()(given, prog_name="crowdsim", standalone_mode=False)
    except Exception as error:
        code = usage_error(error, as_json="--json" in given)
        if code is None:
            raise
    sys.exit(code)


def _as_line(message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None) -> str:
    """Return a warning as it is printed: one of ours as a sentence, without the place in the code that gives it."""
    if category.__module__.startswith("crowdsim."):
        return f"Warning: {message}\n"
    return _usual_format(message, category, filename, lineno, line)
