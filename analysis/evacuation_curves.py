"""How does a place empty? The curves of one or more runs, or of measured people, and the use of exits.

python analysis/evacuation_curves.py runs/one.h5 [runs/other.h5 ...] [--out runs/evacuation.png]
"""

from __future__ import annotations

import argparse
from pathlib import Path

from crowdsim.measures import arrivals, evacuation_curve, exit_use, tracks_of
from crowdsim.pictures.run import new_figure


def main() -> None:
    """Print the use of exits, draw the curves."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, default=Path("runs") / "evacuation.png")
    asked = parser.parse_args()
    figure = new_figure(9.0, 5.0)
    axes = figure.subplots()
    for path in asked.runs:
        tracks = tracks_of(path)
        curve = evacuation_curve(tracks)
        end = max(float(tracks.frame_s[-1]), float(curve["time_s"].iloc[-1]))
        drawn = axes.step(
            [*curve["time_s"], end],
            [*curve["left"], curve["left"].iloc[-1]],
            where="post",
            linewidth=1.8,
            label=path.stem,
        )
        still = int(curve["still_there"].iloc[-1])
        print(
            f"{path}: {curve['left'].iloc[-1]:,} left by {curve['time_s'].iloc[-1]:g} s, {still:,} still "
            "there"
        )
        if not tracks.has_events:
            continue
        came = arrivals(tracks)
        for row in exit_use(tracks).to_dict("records"):
            print(
                f"  {row['goal']}: {row['people']:,}, from {row['first_s']:g} s to {row['last_s']:g} s, "
                f"{row['flow_per_s']:.2f} a second"
            )
            times = came.loc[came["goal"] == row["goal"], "time_s"]
            if 0 < len(times) < len(came):
                axes.step(
                    times,
                    range(1, len(times) + 1),
                    where="post",
                    linewidth=0.9,
                    linestyle=":",
                    color=drawn[0].get_color(),
                )
                axes.annotate(
                    row["goal"],
                    (times.iloc[-1], len(times)),
                    xytext=(4, 0),
                    textcoords="offset points",
                    fontsize=8,
                )
    axes.set_xlabel("time, s")
    axes.set_ylabel("people who have left (dotted: by each exit)")
    axes.set_ylim(bottom=0.0)
    axes.legend(fontsize=8)
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(asked.out, dpi=130)
    print(f"picture: {asked.out}")


if __name__ == "__main__":
    main()
