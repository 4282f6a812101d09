"""The verbs of the command, each with the line that `crowdsim --help` shows."""

from __future__ import annotations

from typing import NamedTuple


class Verb(NamedTuple):
    """One verb: the function `function` of module `crowdsim.cli.<module>`;
    `about` is its line in the help.
    """

    module: str
    function: str
    about: str


VERBS = {
    "bench": Verb("bench", "bench", "Measure steps beside those of other simulators, by turns."),
    "bless": Verb("bless", "bless", "Keep a run as a golden recording, for regression tests."),
    "budget": Verb("budget", "budget", "Show where the time of ticks went, and what broke the budget."),
    "compare": Verb("compare", "compare", "Compare two recordings: bit for bit, by places, or on the whole."),
    "deadlocks": Verb(
        "deadlocks", "deadlocks", "Show which agents were stuck, since when, behind which others, and why."
    ),
    "doctor": Verb(
        "doctor", "doctor", "Show versions, threads, HDF5 and the cache, and what is wrong with them."
    ),
    "export": Verb("export", "export", "Write a recording as CSV or for JuPedSim's tools."),
    "fork": Verb("fork", "fork", "Go on from a checkpoint with other values."),
    "info": Verb("info", "info", "Show what a recording holds."),
    "list": Verb("list", "list_scenarios", "List the scenarios in a folder."),
    "measure": Verb("measure", "measure", "Measure a run: paths, exits, collisions, lines, areas."),
    "migrate": Verb("migrate", "migrate", "Bring a recording of an older format to today's."),
    "models": Verb("models", "models", "Compare avoidance models on one scene, or list them."),
    "new": Verb("new", "new", "Write a commented, working scenario to start from."),
    "parameters": Verb(
        "parameters", "parameters", "Show every tunable number with its unit, range, reason and source."
    ),
    "plot": Verb("plot", "plot", "Draw a run: trails, densities, arrivals, speeds, budget."),
    "recover": Verb("recover", "recover", "Make a whole recording of one that was cut off."),
    "resume": Verb("resume", "resume", "Go on with a run that was stopped, from its last checkpoint."),
    "run": Verb("run", "run", "Run a scenario, record it, and print its results."),
    "schema": Verb("schema", "schema", "Print the JSON Schema of scenarios, for editors."),
    "sweep": Verb(
        "sweep", "sweep", "Run all combinations of values and seeds, and put their results into one table."
    ),
    "tick": Verb("tick", "tick", "Show the systems of the tick in their order."),
    "validate": Verb("validate", "validate", "Check a scenario without running it."),
    "verify": Verb("verify", "verify", "Run a recording's scenario again and compare."),
    "view": Verb("view", "view", "Write a run as one page to look at in a browser."),
}
