"""The verbs of the command, each with the line that `crowdsim --help` shows:
each is the function of its name in the module of its name.
"""

from __future__ import annotations

FUNCTIONS = {"list": "list_scenarios"}  # One named `list` would hide the builtin in its module.
VERBS = {
    "bench": "Measure steps beside those of other simulators, by turns.",
    "bless": "Keep a run as a golden recording, for regression tests.",
    "budget": "Show where the time of ticks went, and what broke the budget.",
    "city": "Write a made city as a scenario, for searches over large ground.",
    "compare": "Compare two recordings: bit for bit, by places, or on the whole.",
    "cut": "Make a recording of a part of another one: some time, a region, groups.",
    "deadlocks": "Show which agents were stuck, since when, behind which others, and why.",
    "doctor": "Show versions, threads, HDF5 and the cache, and what is wrong with them.",
    "export": "Write a recording as CSV or for JuPedSim's tools.",
    "fork": "Go on from a checkpoint with other values.",
    "info": "Show what a recording holds.",
    "list": "List the scenarios in a folder.",
    "measure": "Measure a run: paths, exits, collisions, lines, areas.",
    "migrate": "Bring a recording of an older format to today's.",
    "models": "Compare avoidance models on one scene, or list them.",
    "new": "Write a commented, working scenario to start from.",
    "parameters": "Show every tunable number with its unit, range, reason and source.",
    "plot": "Draw a run: trails, densities, arrivals, speeds, budget.",
    "recover": "Make a whole recording of one that was cut off.",
    "resume": "Go on with a run that was stopped, from its last checkpoint.",
    "run": "Run a scenario, record it, and print its results.",
    "schema": "Print the JSON Schema of scenarios, for editors.",
    "sweep": "Run all combinations of values and seeds, and put their results into one table.",
    "tick": "Show the systems of the tick in their order.",
    "validate": "Check a scenario without running it.",
    "verify": "Run a recording's scenario again and compare.",
    "view": "Write a run as one page to look at in a browser.",
}
