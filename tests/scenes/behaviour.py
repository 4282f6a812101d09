"""Halls in which agents do what machines of states say, and what their recordings hold, for tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

import crowdsim as library
from crowdsim.simulation.simulation import Simulation
from crowdsim.world.events import REASONS, Reason


class Seen(NamedTuple):
    """What a recording holds.

    Attributes
    ----------
    moves : DataFrame
        Columns name, time (s), x, y; a row for each agent and tick.
    states : DataFrame
        Columns name, time, state, reason; ascending by time: which agent begins which state, and why.
    events : DataFrame
        All events, with the columns name and time.
    verdict : Verdict
    """

    moves: pd.DataFrame
    states: pd.DataFrame
    events: pd.DataFrame
    verdict: Any

    def of(self, name: str) -> pd.DataFrame:
        """Return where one agent was, by time."""
        return self.moves[self.moves["name"] == name].set_index("time").sort_index()

    def begins(self, name: str, state: str) -> list[float]:
        """Return when an agent began a state, s."""
        own = self.states[(self.states["name"] == name) & (self.states["state"] == state)]
        return own["time"].tolist()

    def chain(self, name: str) -> list[str]:
        """Return the states of an agent, one after the other."""
        return self.states[self.states["name"] == name]["state"].tolist()


def hall(machines: dict[str, Any], groups: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """Return a hall of 30 by 20 m with two walls, rooms and doors; see the picture in the guide."""
    return {
        "version": 1,
        "name": "hall",
        "seed": 7,
        "tick": 0.1,
        "geometry": {
            "walkable": {"box": [0, 0, 30, 20]},
            "obstacles": [{"box": [10, 4, 11, 12]}, {"box": [18, 0, 19, 6]}, {"box": [18, 10, 19, 20]}],
            "areas": [{"name": "gate", "area": {"box": [18, 6, 19, 10]}}],
        },
        "goals": {
            "out": {"exit": {"box": [29, 8, 30, 12]}},
            "hall": {"region": {"box": [11.5, 12, 17, 19]}},
            "room": {"region": {"box": [20, 1, 28, 6]}},
            "a": {"point": [2, 2]},
            "b": {"point": [8, 18]},
            "c": {"point": [15, 2]},
        },
        "behaviours": machines,
        "groups": groups,
        "record": {"rate": 10},
        "stop": {"after": 60, "when": "never"},
        **more,
    }


def everything(**more: Any) -> dict[str, Any]:
    """Return a hall in which agents do everything that there is."""
    machines = {
        "visitor": {
            "when": [{"signal": "alarm", "to": "react"}],
            "states": {
                "come": {"go_to": "hall", "then": {"stroll": 1, "buy": 1, "sit": 1}},
                "stroll": {
                    "wander": {"where": "hall", "pause": {"uniform": {"low": 0, "high": 2}}},
                    "lasts": {"uniform": {"low": 5, "high": 15}},
                    "then": "buy",
                },
                "buy": {"queue": {"at": "desk", "patience": 20}, "then": "pay", "cannot": "sit"},
                "pay": {"queue": "tills", "then": "sit"},
                "sit": {"stay": "hall", "lasts": {"uniform": {"low": 5, "high": 20}}, "then": "go"},
                "react": {"wait": {"lognormal": {"mu": 0.5, "sigma": 0.4}}, "then": "go"},
                "go": {"leave": "out", "speed": 1.8},
            },
        },
        "guard": {
            "states": {
                "round": {
                    "patrol": {"places": ["a", "b", "c"], "pause": 1},
                    "when": [{"near": {"to": "thief", "within": 6, "seen": True}, "to": "chase"}],
                },
                "chase": {"approach": {"to": "thief", "within": 1}, "then": "rest", "lasts": 15},
                "rest": {"wait": 2, "then": "round"},
            }
        },
        "thief": {
            "states": {
                "lurk": {
                    "wander": {"where": "hall"},
                    "when": [{"near": {"to": "guard", "within": 8, "seen": True}, "to": "hide"}],
                },
                "hide": {"flee": {"away_from": ["guard"], "hidden_for": 5}, "then": "lurk", "speed": 1.6},
            }
        },
        "staff": {
            "states": {
                "w": {"wait_until": {"count": {"where": "hall", "at_least": 3}}, "then": "x"},
                "x": {"choose": {"y": 1, "z": 2}},
                "y": {"follow": {"after": "guard", "distance": 1}, "lasts": 20, "then": "z"},
                "z": {"queue": "tills", "then": "s", "signals": ["go"]},
                "s": {"stand": True, "when": [{"all_of": [{"signal": "go"}, {"after": 3}], "to": "e"}]},
                "e": {"leave": "out"},
            }
        },
    }
    groups = [
        {
            "name": "visitors",
            "region": {"box": [0, 0, 9, 20]},
            "behaviour": "visitor",
            "count": 12,
            "premovement": {"uniform": {"low": 0, "high": 3}},
            "arrive": {"rate": 0.5, "until": 25},
        },
        {"name": "guard", "positions": [[3, 3]], "behaviour": "guard"},
        {"name": "thief", "positions": [[14, 15]], "behaviour": "thief"},
        {"name": "staff", "count": 4, "region": {"box": [20, 8, 28, 13]}, "behaviour": "staff"},
        {"name": "others", "count": 5, "region": {"box": [0, 0, 9, 20]}, "goals": ["a", "out"]},
    ]
    queues = {
        "desk": {
            "servers": [[13, 3], [16, 3]],
            "line": [[14.5, 4.2], [14.5, 10]],
            "service": {"uniform": {"low": 2, "high": 5}},
        },
        "tills": {
            "servers": [[22, 19], [24, 19]],
            "lines": [[[22, 17.8], [22, 14]], [[24, 17.8], [24, 14]]],
            "service": 4,
            "first": ["staff"],
        },
    }
    events = [{"at": 40, "signal": "alarm"}]
    return hall(machines, groups, queues=queues, events=events, **more)


def watch(document: dict[str, Any], path: Path, **more: Any) -> Seen:
    """Run a scenario and return what its recording holds."""
    with Simulation(document, out=path, **more) as run:
        verdict = run.run()
        names, first = run.built.names, run.scenario.behaviours.states
        states = [state.name for state in first]
    with library.open_run(path) as kept:
        moves, events = kept.trajectories(), kept.events()
        tick = kept.header.tick_s
        moves["time"] = moves["frame"].map(kept.frames().set_index("frame")["tick"]) * tick
    events["time"] = events["tick"] * tick
    for table, key in ((moves, "id"), (events, "entity")):
        label = {each: names.of(each) if each > 0 else "" for each in table[key].unique().tolist()}
        table["name"] = table[key].map(label)
    own = events[events["kind"] == "STATE"]
    number = own["value"] // REASONS
    begun = pd.DataFrame(
        {
            "name": own["name"],
            "time": own["time"],
            "state": [states[each] if each >= 0 else "end" for each in number],
            "reason": [Reason(each).words for each in own["value"] % REASONS],
        }
    )
    return Seen(moves[["name", "time", "x", "y", "layer"]], begun, events, verdict)
