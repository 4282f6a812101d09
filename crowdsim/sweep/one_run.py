"""What the process of one run does: it runs, keeps its recording, and says what it resulted in.
Whatever else it writes goes with it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from crowdsim.errors import CrowdsimError, ScenarioError
from crowdsim.scenario.load import parse_scenario
from crowdsim.simulation.simulation import Simulation
from crowdsim.sweep.folder import Folder, finished_result, move_whole, write_json


def do_run(task: Mapping[str, Any]) -> None:
    """Do one run of a sweep.

    Parameters
    ----------
    task : mapping
        As `crowdsim.sweep.supervise.task_of` makes it, and ``scratch``: a folder that is there, for what the
        run writes before it has ended.

    Raises
    ------
    CrowdsimError
        If the run cannot be built, or a model breaks a promise.
    """
    began = time.perf_counter()
    folder, identity = Folder(Path(task["folder"])), task["id"]
    try:
        scenario = parse_scenario(task["text"], file=task["file"], sets=[f"seed={task['seed']}"])
        # lines and areas are measured in the recording, which then goes with the scratch folder
        out = Path(task["scratch"]) / "run.h5" if task["record"] or scenario.measures else None
        simulation = Simulation(scenario, threads=task["threads"], out=out)
    except ScenarioError as error:
        # lines, and the order of groups, are others in the user's file than in the text that a run is given
        raise ScenarioError(
            [
                replace(each, item="" if "[" in each.item else each.item, line=0, column=0)
                for each in error.problems
            ]
        ) from None
    with simulation:
        begun = time.perf_counter()
        verdict = simulation.run()
    if verdict.ended == "interrupted":
        raise CrowdsimError("the run was interrupted from outside.")
    run_s, places = time.perf_counter() - began, {}
    if out is not None and scenario.measures:
        from crowdsim.measures.report import scenario_figures

        places = scenario_figures(out)
    if out is not None and task["record"]:
        move_whole(out, folder.recording(identity))
    result = finished_result(identity, verdict.as_dict(), places, begin_s=begun - began, run_s=run_s)
    write_json(folder.result(identity), result)
