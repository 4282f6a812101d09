"""A crowd without a simulator: agents that walk across a square, come late and leave early,
the same for the same seed.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from crowdsim.recording.digest import column_digests
from crowdsim.recording.files import new_file
from crowdsim.recording.header import Header, Layout
from crowdsim.recording.opening import open_run
from crowdsim.recording.recover import copy_recording
from crowdsim.recording.salvage import counts_until
from crowdsim.recording.schema import (
    EVENT_DTYPE,
    ROSTER_DTYPE,
    STANDARD_COLUMNS,
    EventKind,
    RecordedCount,
    RunState,
)
from crowdsim.recording.writer import RecordingWriter

GROUND = "POLYGON ((-100 -100, 200 -100, 200 200, -100 200, -100 -100))"
SYSTEMS = ("Spawn", "Plan", "Avoid", "Integrate")
COUNTS = (
    RecordedCount("agents", "", "agents present"),
    RecordedCount("deepest_overlap_m", "m", "deepest overlap", "float64"),
)
DIGESTS = ("position", "velocity")


def header(**changes):
    given = {
        "name": "crossing",
        "scenario": "name: crossing\n",
        "seed": 7,
        "tick_s": 0.05,
        "ticks_per_frame": 2,
    }
    given |= {"ground": (GROUND,), "groups": ("left", "right"), "goals": ("door",)}
    return Header(**(given | changes))


def roster_of(*entities):
    """Return a roster of agents of which nothing matters."""
    table = np.zeros(len(entities), dtype=ROSTER_DTYPE)
    table["entity"], table["radius"] = entities, 0.25
    return table


class Crowd:
    """Agent k is present from tick k % 7 on and leaves at tick 100 + k % 50;
    everything is a function of (seed, tick).
    """

    def __init__(self, agents, seed=1):
        rng = np.random.default_rng(seed)
        self.entity = np.arange(1, agents + 1, dtype=np.int64)
        self.start = rng.uniform(0.0, 100.0, (agents, 2))
        self.heading = rng.normal(0.0, 1.0, (agents, 2))
        self.wobble = rng.uniform(0.0, 6.0, agents)
        self.first = (self.entity % 7).astype(np.int64)
        self.last = 100 + self.entity % 50

    def present(self, tick):
        return (self.first <= tick) & (tick < self.last)

    def at(self, tick):
        """Return entity, position and the recorded columns of the agents that are present."""
        here = self.present(tick)
        velocity = self.heading[here] + 0.1 * np.sin(self.wobble[here] + 0.05 * tick)[:, None]
        position = self.start[here] + 0.05 * tick * velocity
        count = len(position)
        integers = np.full(count, tick, dtype=np.int64)
        columns = {
            "velocity": velocity,
            "preferred_velocity": self.heading[here],
            "next_corner": np.round(position, -1),
            "heading": velocity / np.hypot(*velocity.T)[:, None],
            "gait": np.ones(count, dtype=np.uint8),
            "activity": np.ones(count, dtype=np.uint8),
            "path_status": (self.entity[here] % 3).astype(np.uint8),
            "path_tick": integers // 20 * 20,
            "diagnosis": np.ones(count, dtype=np.uint8),
            "blocker": np.where(self.entity[here] % 5 == 0, self.entity[here] - 1, 0),
            "neighbour_count": self.entity[here] % 11,
            "samples": np.zeros(count, dtype=np.int32),
            "surface": (np.round(position[:, 0]) + 1000).astype(np.int64),
            "layer": np.zeros(count, dtype=np.int32),
            "goal": np.zeros(count, dtype=np.int32),
            "nudges": self.entity[here].astype(np.int32) % 3,
            "replans": np.full(count, tick // 2, dtype=np.int32),
            "local_path": np.zeros(count, dtype=np.uint8),
            "is_stuck": np.zeros(count, dtype=np.uint8),
            "remaining": np.hypot(position[:, 0], position[:, 1]),
            "progress": np.full(count, 0.05 * tick),
        }
        return self.entity[here], position, columns

    def roster(self, tick):
        new = self.first == tick
        table = np.zeros(int(new.sum()), dtype=ROSTER_DTYPE)
        table["entity"], table["key"], table["group"] = (
            self.entity[new],
            self.entity[new] * 977,
            self.entity[new] % 2,
        )
        table["scenario_id"], table["radius"], table["spawn_tick"] = -1, 0.25, tick
        return table

    def events(self, tick):
        spawned, arrived = self.entity[self.first == tick], self.entity[self.last == tick]
        table = np.zeros(len(spawned) + len(arrived), dtype=EVENT_DTYPE)
        table["tick"] = tick
        table["entity"] = np.concatenate((spawned, arrived))
        table["kind"] = [EventKind.SPAWN] * len(spawned) + [EventKind.ARRIVAL] * len(arrived)
        return table

    def record(self, writer, ticks, first=0, pause=None):
        """Feed ticks first..ticks - 1 to a writer, in the order in which a simulation calls it."""
        every = writer.header.ticks_per_frame
        for tick in range(first, ticks):
            entity, position, columns = self.at(tick)
            writer.roster(self.roster(tick))
            writer.events(self.events(tick))
            if writer.layout.trace:
                writer.trace(tick, 3, {"position": position, "velocity": columns["velocity"]})
            if tick % every == 0:
                writer.frame(tick // every, tick, entity, position[:, 0], position[:, 1], 0.0, columns)
            counts = {"agents": len(entity), "deepest_overlap_m": 0.001 * tick}
            writer.tick(
                tick,
                counts,
                [tick, 1, 2, 3],
                column_digests({"position": position, "velocity": columns["velocity"]}),
            )
            if pause is not None:
                pause(tick)
        return self


def new_writer(out, *, columns=STANDARD_COLUMNS, header_changes=None, **options):
    layout = {name: options.pop(name) for name in ("trace", "explain", "traced") if name in options}
    return RecordingWriter(
        out,
        header(**(header_changes or {})),
        Layout(tuple(columns), tuple(SYSTEMS), tuple(COUNTS), tuple(DIGESTS), **layout),
        **options,
    )


def killed(writer):
    """Leave what a kill at this moment would, and return the hidden file."""
    data = writer.partial.read_bytes()
    writer.discard()
    writer.partial.write_bytes(data)
    return writer.partial


def record(out, agents=20, ticks=60, seed=1, verdict=None, **options):
    """Record a whole run and return its path."""
    writer = new_writer(out, **options)
    Crowd(agents, seed).record(writer, ticks)
    return writer.close(verdict or {"arrived": 0}).path


def cut(path: Path, out: Path, last_tick: int) -> Path:
    """Copy a recording until a tick into a new file, marked as interrupted, as a time limit would have."""
    with open_run(path) as recording:
        commit = counts_until(recording, last_tick)
    reason = f"cut after tick {last_tick}"
    verdict = {"state": RunState.INTERRUPTED.name.lower(), "reason": reason, "result": {}}
    with new_file(out) as copy:
        copy_recording(path, copy, state=RunState.INTERRUPTED, verdict=verdict, commit=commit)
    return out
