"""What recording costs.

    python benchmarks/recording.py
        shares of a run's time: recording, digests, tracing; and a checkpoint
    python benchmarks/recording.py --writer             milliseconds for a frame, beside h5py's own gzip
    ... --agents 10000 [--ticks 240] [--frames 200]

Shares: three runs of one crowd take turns, one that records nothing, one that records 10 frames a second, and
one that is traced as well, so that a busy machine slows all of them. Times are CPU times of the process.

The writer: ours and plain h5py take turns, block by block. The first lines measure a machine that has touched
its memory before: a fresh virtual machine pays several times as much for every new page of the file cache,
whatever writes it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

import h5py
import numpy as np

from crowdsim.recording.digest import column_digests
from crowdsim.recording.header import Header
from crowdsim.recording.schema import STANDARD_COLUMNS, TRAJECTORY_DTYPE, RecordedCount
from crowdsim.recording.writer import RecordingWriter
from crowdsim.scenario.load import parse_scenario
from crowdsim.simulation.simulation import Simulation
from crowdsim.systems.record import DIGEST_COLUMNS

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # a script finds its own folder only
from crowdsim.bench.square import document

BLOCK = 40


class Walkers:
    """Agents that walk with a little noise, so that the low digits of their places are as random as in a
    simulation.
    """

    def __init__(self, agents: int) -> None:
        self.rng = np.random.default_rng(1)
        self.entity = np.arange(1, agents + 1)
        self.position = self.rng.uniform(0.0, 100.0, (agents, 2))
        self.velocity = self.rng.normal(0.0, 1.0, (agents, 2))
        self.corner = self.rng.uniform(0.0, 100.0, (300, 2))[self.rng.integers(0, 300, agents)]
        self.preferred = self.velocity.copy()
        self.walked = np.zeros(agents)

    def step(self) -> dict[str, np.ndarray]:
        count = len(self.entity)
        self.velocity += self.rng.normal(0.0, 0.02, self.velocity.shape)
        self.position += 0.1 * self.velocity
        self.walked = self.walked + 0.1 * np.hypot(*self.velocity.T)
        self.preferred += self.rng.normal(0.0, 0.02, self.velocity.shape)
        blocked = self.rng.random(count) < 0.3
        return {
            "velocity": self.velocity,
            "preferred_velocity": self.preferred,
            "next_corner": self.corner,
            "activity": np.ones(count, dtype=np.uint8),
            "path_status": np.full(count, 2, dtype=np.uint8),
            "path_tick": self.entity % 97,
            "diagnosis": np.where(blocked, 2, 1).astype(np.uint8),
            "neighbour_count": np.minimum(10, self.rng.integers(6, 16, len(self.entity))),
            "samples": np.zeros(len(self.entity), dtype=np.int32),
            "blocker": np.where(blocked, self.rng.permutation(self.entity), 0),
            "surface": np.floor(self.position[:, 0]).astype(np.int64) + 2**40,
            "layer": np.zeros(count, dtype=np.int32),
            "goal": (self.entity % 4).astype(np.int32),
            "is_stuck": np.zeros(count, dtype=np.uint8),
            "remaining": np.hypot(*(self.corner - self.position).T),
            "progress": self.walked,
            "heading": self.velocity / np.maximum(np.hypot(*self.velocity.T), 1e-9)[:, None],
            "gait": np.ones(count, dtype=np.uint8),
            "nudges": np.zeros(count, dtype=np.int32),
            "replans": np.zeros(count, dtype=np.int32),
            "local_path": np.zeros(count, dtype=np.uint8),
        }


class PlainWriter:
    """The obvious way: the same datasets with h5py's shuffle and gzip-1, whole blocks appended."""

    def __init__(self, path: Path, columns: dict[str, np.ndarray]) -> None:
        self.file = h5py.File(path, "x", libver=("v110", "v110"))
        types = {"trajectory": (TRAJECTORY_DTYPE, ())} | {
            c.name: (c.stored_dtype(False), columns[c.name].shape[1:]) for c in STANDARD_COLUMNS
        }
        self.datasets = {
            name: self.file.create_dataset(
                name,
                shape=(0, *tail),
                maxshape=(None, *tail),
                chunks=(16384, *tail),
                dtype=dtype,
                shuffle=True,
                compression="gzip",
                compression_opts=1,
            )
            for name, (dtype, tail) in types.items()
        }
        self.file.swmr_mode = True
        self.blocks: dict[str, list[np.ndarray]] = {name: [] for name in self.datasets}

    def frame(
        self, frame: int, entity: np.ndarray, position: np.ndarray, columns: dict[str, np.ndarray]
    ) -> None:
        table = np.zeros(len(entity), dtype=TRAJECTORY_DTYPE)
        table["frame"], table["id"], table["x"], table["y"] = frame, entity, position[:, 0], position[:, 1]
        self.blocks["trajectory"].append(table)
        for column in STANDARD_COLUMNS:
            self.blocks[column.name].append(columns[column.name].astype(column.dtype))
        if len(self.blocks["trajectory"]) == BLOCK:
            self.flush()

    def flush(self) -> None:
        for name, dataset in self.datasets.items():
            rows = np.concatenate(self.blocks[name])
            start = dataset.shape[0]
            dataset.resize(start + len(rows), axis=0)
            dataset[start:] = rows
            self.blocks[name].clear()
        self.file.flush()


def warm(folder: Path) -> None:
    """Touch 1.5 GB of file cache, so that the measurement does not pay for memory that the machine hands out
    for the first time.
    """
    path = folder / "warm.bin"
    with path.open("wb") as file:
        for _ in range(1500):
            file.write(bytes(10**6))
    path.unlink()


WARM, BLOCK_TICKS, CHECKPOINTS = 20, 40, 9


def shares(agents: int, ticks: int) -> dict[str, float]:
    """Return what recording, digests, tracing and checkpoints cost in a run of so many agents;
    shares of the time of the run that does them.

    Parameters
    ----------
    agents, ticks : int
    """
    text = document(agents)
    traced = parse_scenario(text, file="benchmark", sets=["record.trace=true"])
    with tempfile.TemporaryDirectory() as name, Simulation(parse_scenario(text, file="benchmark")) as bare:
        folder = Path(name)
        with (
            Simulation(bare.scenario, out=folder / "recorded.h5") as recorded,
            Simulation(traced, out=folder / "traced.h5") as traced_run,
        ):
            runs = {"bare": bare, "recorded": recorded, "traced": traced_run}
            spent, digests, people = dict.fromkeys(runs, 0.0), 0.0, bare.world.agents
            for run in runs.values():
                for _ in range(WARM):
                    run.step()
            for _ in range(ticks // BLOCK_TICKS):
                for kind, run in runs.items():
                    began = time.process_time()
                    for _ in range(BLOCK_TICKS):
                        run.step()
                    spent[kind] += time.process_time() - began
                began = time.process_time()
                for _ in range(BLOCK_TICKS):
                    column_digests({column: getattr(people, column) for column in DIGEST_COLUMNS})
                digests += time.process_time() - began
            checkpoint = []
            for _ in range(CHECKPOINTS):
                began = time.process_time()
                bare.checkpoint(folder / "a.checkpoint")
                checkpoint.append(time.process_time() - began)
            size = (folder / "a.checkpoint").stat().st_size
    return {
        "agents": agents,
        "tick_ms": 1e3 * spent["bare"] / ticks,
        "recording_share": 1.0 - spent["bare"] / spent["recorded"],
        "digests_share": digests / spent["bare"],
        "tracing_share": 1.0 - spent["recorded"] / spent["traced"],
        "checkpoint_ms": 1e3 * float(np.median(checkpoint)),
        "checkpoint_mb": size / 1e6,
    }


BOUNDS = {"recording_share": 0.10, "digests_share": 0.02, "tracing_share": 0.20, "checkpoint_ms": 50.0}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--agents", type=int, default=10000)
    parser.add_argument("--ticks", type=int, default=240)
    parser.add_argument("--frames", type=int, default=200)
    parser.add_argument("--writer", action="store_true", help="time the writer beside h5py's own gzip")
    parser.add_argument(
        "--trace", action="store_true", help="of the writer, also the digests of a traced run"
    )
    chosen = parser.parse_args()
    if chosen.writer:
        writer_beside_h5py(chosen)
        return
    for name, value in shares(chosen.agents, chosen.ticks).items():
        print(f"{name:18} {value:10,.3f}" + (f"   at most {BOUNDS[name]:g}" if name in BOUNDS else ""))


def writer_beside_h5py(chosen: argparse.Namespace) -> None:
    """Time the writer and plain h5py in turn, and print."""
    walkers = Walkers(chosen.agents)
    columns = walkers.step()
    spent = {"frame": 0.0, "tick": 0.0, "digests": 0.0, "plain h5py gzip-1": 0.0}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        warm(folder)
        systems = tuple(f"System{k}" for k in range(15))
        header = Header("benchmark", "", 1, 0.05, 2)
        counts = tuple(RecordedCount(f"count{k}", "", "") for k in range(10))
        digests = ("position", *(column.name for column in STANDARD_COLUMNS))
        writer = RecordingWriter(
            folder / "run.h5",
            header,
            STANDARD_COLUMNS,
            systems,
            counts=counts,
            digest_columns=digests,
            trace=chosen.trace,
        )
        writer.tick(0, {}, [0] * 15, column_digests({"position": walkers.position} | columns))  # compiles
        writer.frame(0, 0, walkers.entity, walkers.position[:, 0], walkers.position[:, 1], 0.0, columns)
        writer.commit()
        plain = PlainWriter(folder / "plain.h5", columns)
        for frame in range(1, chosen.frames + 1):
            columns = walkers.step()
            began = time.perf_counter()
            writer.frame(
                frame, 2 * frame, walkers.entity, walkers.position[:, 0], walkers.position[:, 1], 0.0, columns
            )
            framed = time.perf_counter()
            for tick in (2 * frame, 2 * frame + 1):
                values = column_digests({"position": walkers.position} | columns)
                spent["digests"] += time.perf_counter() - framed
                if chosen.trace:
                    traced = time.perf_counter()
                    for system in range(15):
                        writer.trace(
                            tick, system, {"position": walkers.position, "velocity": columns["velocity"]}
                        )
                    spent["trace"] = spent.get("trace", 0.0) + time.perf_counter() - traced
                began_tick = time.perf_counter()
                writer.tick(tick, {"count1": 3}, [5] * 15, values)
                framed = time.perf_counter()
                spent["tick"] += framed - began_tick
            spent["frame"] += 0.0
            middle = time.perf_counter()
            plain.frame(frame, walkers.entity, walkers.position, columns)
            ended = time.perf_counter()
            spent["plain h5py gzip-1"] += ended - middle
            spent["frame"] += framed - began
        spent["frame"] -= spent["tick"] + spent["digests"] + spent.get("trace", 0.0)
        path = writer.close({}).path
        plain.file.close()
        sizes = path.stat().st_size / 1e6, (folder / "plain.h5").stat().st_size / 1e6
    print(f"{chosen.agents} agents, {chosen.frames} frames, 2 ticks a frame")
    for part, seconds in spent.items():
        print(f"  {part:20s} {1e3 * seconds / chosen.frames:7.3f} ms a frame")
    ours = spent["frame"] + spent["tick"]
    ratio = spent["plain h5py gzip-1"] / ours
    print(
        f"writer {1e3 * ours / chosen.frames:.3f} ms a frame: plain h5py takes {ratio:.1f} times as long; "
        f"files {sizes[0]:.1f} and {sizes[1]:.1f} MB"
    )


if __name__ == "__main__":
    main()
