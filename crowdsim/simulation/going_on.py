"""What can be done with a run that was stopped or killed:
from which file and which checkpoint it goes on, and which command does what.

A run keeps its id when it goes on, so that all that its parts have left, recordings and checkpoints, belongs
together: any recording of it that reaches a checkpoint can be used with it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from crowdsim.commands import command
from crowdsim.errors import RecordingError
from crowdsim.recording.checkpoint import Checkpoint, checkpoints_of, read_checkpoint
from crowdsim.recording.files import is_stale_placeholder, out_of, recovered_name
from crowdsim.recording.leftovers import Found, is_part_of, left_for, look_at
from crowdsim.recording.schema import RunState


@dataclass(frozen=True)
class Stopped:
    """One run, and all that is left of it.

    Attributes
    ----------
    out : Path
        The name that its recording has, or was to have.
    run_id : str
    files : tuple of Found
        Recordings of it that can be read, the one that reaches farthest first; then those that cannot.
    checkpoints : tuple of (Path, Checkpoint)
        By their ticks, and without their states: whether these are whole turns out when one is read.
    damaged : tuple of str
        What is wrong with checkpoints that cannot be read.
    is_meant : bool
        It is the run that its name means: that which has it, else the newest that reached its end without a
        name or has a checkpoint, else the newest.
    """

    out: Path
    run_id: str
    files: tuple[Found, ...]
    checkpoints: tuple[tuple[Path, Checkpoint], ...] = field(default=(), repr=False)
    damaged: tuple[str, ...] = ()
    is_meant: bool = True

    @property
    def longest(self) -> Found:
        """The recording that reaches farthest."""
        return self.files[0]

    @property
    def writer(self) -> str:
        """The process that writes to it now, as words; empty if none does."""
        return next((found.writer for found in self.files if found.is_live), "")

    @property
    def unnamed(self) -> Found | None:
        """A file of the run that reached its end, and was killed before it had its name."""
        return next(
            (
                found
                for found in self.files
                if found.state is RunState.FINISHED and out_of(found.path) is not None
            ),
            None,
        )

    def last_checkpoint(self, at: float | None = None) -> tuple[Path, Checkpoint] | None:
        """Return the newest checkpoint that a recording of the run reaches, not after a time."""
        reached = [
            pair
            for pair in self.checkpoints
            if pair[1].tick <= self.longest.last_tick and (at is None or pair[1].time_s <= at + 1e-9)
        ]
        return max(reached, key=lambda pair: pair[1].tick) if reached else None

    def read_last(self, at: float | None = None) -> tuple[Stopped, tuple[Path, Checkpoint] | None]:
        """Read that checkpoint with its state, and return the run, whose `damaged` have those that turned out
        to be so, and the newest that is whole.
        """
        run = self
        while (last := run.last_checkpoint(at)) is not None:
            try:
                return run, (last[0], read_checkpoint(last[0]))
            except RecordingError as error:
                others = tuple(pair for pair in run.checkpoints if pair is not last)
                run = replace(run, checkpoints=others, damaged=(*run.damaged, str(error)))
        return run, None

    def steps(self, *, by_file: bool = False) -> list[tuple[str, str]]:
        """Return what can be done: in words, and by which command; the best first.
        Empty if it reached its end and has its name, or is going on.

        Parameters
        ----------
        by_file : bool
            Commands name the file, since another run is about to have the name.
        """
        found = self.longest
        if (
            self.writer
            or found.last_tick < 0
            or (found.state is RunState.FINISHED and found.is_whole and out_of(found.path) is None)
        ):
            return []
        named = self.out if self.is_meant and not by_file else found.path
        if self.unnamed is not None:
            return [("gives the finished run its name", command("resume", named))]
        steps = []
        last = self.last_checkpoint()
        if last is not None and _is_of_this_code(last[1]):
            steps.append((f"goes on from {last[1].time_s:g} s", command("resume", named)))
        if not found.is_whole:
            steps.append(
                (f"makes a whole recording of the {found.until_s:g} s that are safe", _recovering(found))
            )
        if found.header is not None and not (found.header.first_tick or found.header.cut):
            steps.append(("runs it again from the beginning", command("resume", named, "--at", "0")))
        return steps


def _recovering(found: Found) -> str:
    """Return the command that recovers a file, under a name that it can have."""
    target = recovered_name(found.path)
    if not target.exists() or is_part_of(target, found.path):
        return command("recover", found.path)
    return command(
        "recover", found.path, "--out", target.with_name(f"{target.stem}.{found.run_id}{target.suffix}")
    )


def _is_of_this_code(checkpoint: Checkpoint) -> bool:
    from crowdsim.simulation.checkpoints import code_version

    return checkpoint.code == code_version()


def runs_of(name: Path) -> list[Stopped]:
    """Return the runs of a name, that of the recording which has it first, then those that were killed,
    the newest first.

    Parameters
    ----------
    name : Path
        The name that recordings have, or were to have; or that of a hidden file, whose run alone is meant
        then.
    """
    out = out_of(name) or name
    named = [look_at(out)] if out.exists() and not is_stale_placeholder(out) else []
    found = [*named, *left_for(out)]
    ids = dict.fromkeys(each.run_id for each in found)
    runs = [_run(out, run_id, [each for each in found if each.run_id == run_id]) for run_id in ids]
    if runs:
        usable = (
            run for run in runs if run.writer or run.unnamed is not None or run.last_checkpoint() is not None
        )
        meant = runs[0] if named else next(usable, runs[0])
        runs = [replace(run, is_meant=run is meant) for run in runs]
    return runs if name == out else [run for run in runs if any(each.path == name for each in run.files)]


def _run(out: Path, run_id: str, found: list[Found]) -> Stopped:
    checkpoints, damaged = [], []
    for path in checkpoints_of(out, run_id):
        try:
            checkpoints.append((path, read_checkpoint(path, with_state=False)))
        except RecordingError as error:
            damaged.append(str(error))
    # Of two that reach equally far, the finished one, then the one that has its name.
    files = sorted(
        found,
        key=lambda each: (
            each.commit is not None,
            each.last_tick,
            each.state is RunState.FINISHED,
            out_of(each.path) is None,
        ),
        reverse=True,
    )
    return Stopped(
        out, run_id, tuple(files), tuple(sorted(checkpoints, key=lambda pair: pair[1].tick)), tuple(damaged)
    )
