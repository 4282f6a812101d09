"""How large recordings are, and what of them is what: bytes for an agent in a frame, as a table in Markdown.

    python benchmarks/recording_sizes.py [--scenarios open-10000 concourse room-evacuation bottleneck]
        [--trace bottleneck]

The sizes are those of a whole file, divided by the rows of its trajectory: they depend on no clock but for
the tick times themselves, some bytes a tick.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

import h5py

from crowdsim.scenario.load import load_scenario
from crowdsim.simulation.simulation import Simulation

SCENARIOS = Path(__file__).resolve().parent.parent / "scenarios"
PARTS = {
    "of these x, y, z": ("trajectory",),
    "velocities": ("agents/velocity", "agents/preferred_velocity"),
    "headings": ("agents/heading",),
    "digests and timings": ("digests", "timings"),
}


def sizes_of(path: Path) -> tuple[int, int, dict[str, int]]:
    """Return the frames and the rows of a recording, and the stored bytes of its datasets by name."""
    stored: dict[str, int] = {}

    def look_at(name: str, item: object) -> None:
        if isinstance(item, h5py.Dataset):
            stored[name] = item.id.get_storage_size()

    with h5py.File(path, "r") as file:
        file.visititems(look_at)
        return len(file["frames/tick"]), len(file["trajectory"]), stored


def row_of(name: str, sets: Sequence[str], folder: Path) -> str:
    """Run a scenario; return its row of the table."""
    scenario = load_scenario(SCENARIOS / f"{name}.yaml", sets=sets)
    out = folder / "run.h5"
    with Simulation(scenario, out=out, force=True) as run:
        run.run()
    frames, rows, stored = sizes_of(out)
    size = out.stat().st_size
    parts = [
        sum(taken for dataset, taken in stored.items() if dataset.startswith(names)) / rows
        for names in PARTS.values()
    ]
    title = f"{name} `--trace`" if sets else name
    counts = [
        f"{scenario.agent_count:,}",
        f"{frames:,}",
        f"{rows:,}",
        f"{size / 1e6:.2f} MB",
        f"{size / rows:.1f}",
    ]
    return " | ".join([f"| {title}", *counts, *(f"{part:.2f}" for part in parts)]) + " |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument(
        "--scenarios", nargs="+", default=["open-10000", "concourse", "room-evacuation", "bottleneck"]
    )
    parser.add_argument("--trace", nargs="*", default=["bottleneck"])
    asked = parser.parse_args()
    print("| run | agents | frames | rows | file | bytes a row | " + " | ".join(PARTS) + " |")
    print("| --- " * (6 + len(PARTS)) + "|")
    with tempfile.TemporaryDirectory() as folder:
        for name, sets in [(name, []) for name in asked.scenarios] + [
            (name, ["record.trace=true"]) for name in asked.trace
        ]:
            print(row_of(name, sets, Path(folder)), flush=True)


if __name__ == "__main__":
    main()
