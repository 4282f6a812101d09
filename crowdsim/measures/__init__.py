"""What did it result in? Recorded runs and measured people, as tables.

Every function takes a path, an open `Recording`, or `Tracks`, which are read once and can be measured often:
``tracks = tracks_of("run.h5")``; of runs that are larger than the memory, ``with run_of("run.h5") as run``.
It returns a pandas DataFrame with a row for each thing that happened, or a Series; ``attrs["units"]`` of a
table has the unit of every column. Numbers that are of nobody are NaN. See docs/guides/measures.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crowdsim.front_doors import names_from
from crowdsim.old_names import FUNCTIONS

if TYPE_CHECKING:
    from crowdsim.measures.areas import Area, area_states, area_stays, box_area, steady_state
    from crowdsim.measures.behaviour import (
        queue_lengths,
        queue_use,
        state_spells,
        state_use,
        trips,
        waits_in_line,
    )
    from crowdsim.measures.choosing import choice_changes, choice_use, choices
    from crowdsim.measures.connections import ride_use, rides
    from crowdsim.measures.contacts import collisions, overlaps, steering_scores
    from crowdsim.measures.deadlock import deadlocks, stuck_people, stuck_spells, waiting_graph, why_stuck
    from crowdsim.measures.exits import arrivals, evacuation_curve, exit_use
    from crowdsim.measures.lanes import lane_order, lane_order_of
    from crowdsim.measures.lines import Line, first_crossings, flow_over_time, line_crossings, mean_flow
    from crowdsim.measures.measured import read_measured
    from crowdsim.measures.motion import path_lengths, speed_over_time, speeds, trajectories
    from crowdsim.measures.parties import parties_of_groups, party_spread, party_use
    from crowdsim.measures.report import all_tables, summary
    from crowdsim.measures.shortest_paths import detours
    from crowdsim.measures.sources import by_people, run_of, tracks_of
    from crowdsim.measures.tracks import Tracks
    from crowdsim.measures.with_pedpy import densities, passages, pedpy_ground, pedpy_trajectory

__all__ = [
    "Area", "Line", "Tracks", "all_tables", "area_states", "area_stays", "arrivals", "box_area", "by_people",
    "choice_changes", "choice_use", "choices", "collisions",
    "deadlocks", "densities", "detours", "evacuation_curve", "exit_use", "first_crossings", "flow_over_time",
    "lane_order", "lane_order_of", "line_crossings", "mean_flow", "overlaps", "parties_of_groups",
    "party_spread", "party_use", "passages", "path_lengths",
    "pedpy_ground", "pedpy_trajectory", "queue_lengths", "queue_use", "read_measured", "ride_use",
    "rides", "run_of", "speed_over_time",
    "speeds", "state_spells", "state_use", "steady_state", "steering_scores", "stuck_people", "stuck_spells",
    "summary", "tracks_of", "trajectories", "trips", "waiting_graph", "waits_in_line", "why_stuck",
]  # fmt: skip

__getattr__, __dir__ = names_from(__name__, {
    "areas": ("Area", "area_states", "area_stays", "box_area", "steady_state"),
    "behaviour": (
        "queue_lengths", "queue_use", "state_spells", "state_use", "trips", "waits_in_line",
    ),
    "choosing": ("choice_changes", "choice_use", "choices"),
    "connections": ("ride_use", "rides"),
    "contacts": ("collisions", "overlaps", "steering_scores"),
    "deadlock": ("deadlocks", "stuck_people", "stuck_spells", "waiting_graph", "why_stuck"),
    "exits": ("arrivals", "evacuation_curve", "exit_use"),
    "lanes": ("lane_order", "lane_order_of"),
    "lines": ("Line", "first_crossings", "flow_over_time", "line_crossings", "mean_flow"),
    "measured": ("read_measured",),
    "motion": ("path_lengths", "speed_over_time", "speeds", "trajectories"),
    "parties": ("parties_of_groups", "party_spread", "party_use"),
    "report": ("all_tables", "summary"),
    "shortest_paths": ("detours",),
    "sources": ("by_people", "run_of", "tracks_of"),
    "tracks": ("Tracks",),
    "with_pedpy": ("densities", "passages", "pedpy_ground", "pedpy_trajectory"),
}, FUNCTIONS)  # fmt: skip
