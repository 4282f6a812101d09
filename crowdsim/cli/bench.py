"""``crowdsim bench``: how fast a step is beside those of other simulators, here and now."""

from __future__ import annotations

import json as json_module
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from crowdsim.cli.options import new_output
from crowdsim.cli.progress import Progress
from crowdsim.cli.shell import table, tell
from crowdsim.errors import CrowdsimError, ExitCode

HISTORY = Path("benchmarks") / "history" / "bench.jsonl"
MOST_SHOWN = 5  # Entries of the history that stand side by side, the newest.


def bench(
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer agents and rounds: about a minute; the whole takes some.")
    ] = False,
    scenes: Annotated[
        list[str] | None,
        typer.Option(
            "--scene", metavar="NAME", help="Only this scene: open, pillars, paths, tick; may be repeated."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write what was measured to this file (.json).")
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Add what was measured to the history.")] = False,
    history: Annotated[
        bool, typer.Option("--history", help="Measure nothing: show how the ratios went.")
    ] = False,
    file: Annotated[
        Path, typer.Option("--file", metavar="FILE", help="The history, one JSON object a line.")
    ] = HISTORY,
    force: Annotated[bool, typer.Option("--force", help="Replace the file of --out.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object for programs.")] = False,
) -> int:
    """Step fixed crowds, by turns, with crowdsim and the simulators that are installed (crowdsim[bench]),
    and say how many times our time they take.

    Processor times of one machine say little about another; ratios of the same round do. Products that are
    not installed are named.
    """
    from crowdsim.bench.document import as_text, read_history, run_bench
    from crowdsim.bench.document import keep as keep_document

    if history:
        idle = [
            name
            for name, given in (("--quick", quick), ("--scene", scenes), ("--out", out), ("--keep", keep))
            if given
        ]
        if idle:
            raise CrowdsimError(
                f"--history measures nothing, and leaves nothing to do for {' and '.join(idle)}. Leave out "
                "one or the other."
            )
        entries = read_history(file)
        tell(entries, json, lambda: _history_text(entries[-MOST_SHOWN:]))
        return int(ExitCode.OK)
    if out is not None:
        new_output(out, (".json",), "a benchmark", force=force)
    with Progress(enabled=not json) as progress:
        document = run_bench(quick=quick, scenes=scenes, note=progress.note)
        progress.note("")
    if out is not None:
        from crowdsim.recording.files import new_file

        with new_file(out, force=force) as scratch:
            scratch.write_text(
                json_module.dumps(document, indent=1, allow_nan=False) + "\n", encoding="utf-8"
            )
    if keep:
        keep_document(document, file)
    kept = [*([out] if out is not None else []), *([file] if keep else [])]
    lines = [as_text(document, table), *(f"kept in {target}" for target in kept)]
    tell(document, json, lambda: "\n".join(lines))
    return int(ExitCode.OK)


def _history_text(entries: Sequence[dict[str, Any]]) -> str:
    """Return how the ratios went, below a line for each machine."""
    from crowdsim.bench.document import history_rows

    machines = [(entry, entry["machine"]) for entry in entries]
    heads = [
        f"{machine['date'][:16]}  {machine['processor']}, {machine['cores']} cores, load "
        f"{machine['load'][0]:g}{', quick' if entry['quick'] else ''}"
        for entry, machine in machines
    ]
    return "\n".join([*heads, "", table(*history_rows(entries))])
