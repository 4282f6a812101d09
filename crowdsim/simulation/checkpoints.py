"""When checkpoints are taken, and which runs may take them up."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import yaml
from numpy.typing import NDArray

import crowdsim.avoidance
from crowdsim.errors import CrowdsimError, RecordingError
from crowdsim.kernels.sources import source_key
from crowdsim.recording.checkpoint import Checkpoint, checkpoint_names, write_checkpoint
from crowdsim.recording.header import software_versions
from crowdsim.saved import SavedError

if TYPE_CHECKING:
    from crowdsim.recording.reader import Recording
    from crowdsim.scenario.model import Scenario
    from crowdsim.simulation.recorder import Recorder

_OF_MODELS = ("systems/Avoid/", "world/wall_reach")  # what of a state belongs to the avoidance models
_MAY_CHANGE = {
    "name",
    "description",
    "avoidance",
    "speed_density",
    "bodies",
    "symmetry",
    "budget",
    "stop",
    "record",
}


class Running(Protocol):
    """A run as checkpoints see it; `crowdsim.simulation.simulation.Simulation` is one."""

    scenario: Scenario
    recorder: Recorder | None

    @property
    def tick(self) -> int:
        """The tick that the run has reached."""

    def state(self) -> dict[str, NDArray[Any]]:
        """Return everything that lives, as named arrays."""

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take a state up."""


@cache
def code_version() -> str:
    """Return a hash of the code whose state checkpoints hold:
    the simulation with everything that it imports, and all avoidance models.
    """
    here = Path(__file__).resolve()
    models = sorted(Path(crowdsim.avoidance.__path__[0]).resolve().rglob("*.py"))
    return source_key(here.with_name("simulation.py"), "".join(source_key(path) for path in models))


def checkpoint_of(simulation: Running) -> Checkpoint:
    """Return everything that lives in a run, between two ticks."""
    scenario, recorder = simulation.scenario, simulation.recorder
    header = recorder.writer.header if recorder is not None else None
    return Checkpoint(
        name=scenario.name,
        tick=simulation.tick,
        tick_s=scenario.tick,
        scenario=scenario.canonical(),
        run_id=header.run_id if header else "",
        code=code_version(),
        versions=software_versions(),
        plugins=dict(header.plugins) if header else {},
        state=simulation.state(),
    )


class Start(NamedTuple):
    """Where a run begins that goes on from a checkpoint.

    Attributes
    ----------
    checkpoint : Checkpoint
    where : str
        Its file, for messages.
    recording : Recording or None
        What was recorded until then, which the new recording begins with; None begins one with the
        checkpoint's tick.
    are_models_new : bool
        Other avoidance models go on than came here: they begin without memories.
    """

    checkpoint: Checkpoint
    where: str
    recording: Recording | None = None
    are_models_new: bool = False

    @property
    def run_id(self) -> str:
        """Of the run that goes on; empty where a new one begins with what the checkpoint holds."""
        return self.recording.header.run_id if self.recording is not None else ""

    @property
    def first_tick(self) -> int:
        """The tick with which the new recording begins."""
        return self.recording.header.first_tick if self.recording is not None else self.checkpoint.tick


def take_up(simulation: Running, start: Start) -> None:
    """Put a simulation that was just made where a checkpoint stands.

    Raises
    ------
    RecordingError
        If the checkpoint belongs to other code, or its state does not fit the scenario.
    """
    checkpoint, where = start.checkpoint, start.where
    if checkpoint.code != code_version():
        then, now = checkpoint.versions.get("crowdsim", "?"), software_versions()["crowdsim"]
        raise RecordingError(
            f"{where}: was written by other code (crowdsim {then}; this is {now}, with other sources), "
            "whose state this one may not understand. "
            "Go on with that version, or run the scenario anew."
        )
    state = dict(checkpoint.state)
    if start.are_models_new:
        state = {name: array for name, array in state.items() if not name.startswith(_OF_MODELS)}
        state |= {name: array for name, array in simulation.state().items() if name.startswith(_OF_MODELS)}
    is_same_tick = "world/tick" in state and state["world/tick"].tolist() == [checkpoint.tick]
    try:
        if not is_same_tick or checkpoint.tick_s != simulation.scenario.tick:
            raise SavedError(f"world/tick is not {checkpoint.tick} of {checkpoint.tick_s:g} s")
        simulation.restore(state)
    except (SavedError, CrowdsimError) as error:
        raise RecordingError(
            f"{where}: its state after tick {checkpoint.tick} does not belong to this scenario, or the file "
            f"was changed: {error}. "
            "Go on from another checkpoint of the run, if there is one, or run the scenario anew."
        ) from error


def require_same_shape(before: Scenario, after: Scenario, where: str) -> bool:
    """Return whether the avoidance models of two scenarios differ,
    where one may go on with what another began.

    Raises
    ------
    CrowdsimError
        If they differ in something that a state is made of, or that was drawn before the first tick.
    """
    old, new = (yaml.safe_load(scenario.canonical()) for scenario in (before, after))
    changed = {key for key in old.keys() | new.keys() if old.get(key) != new.get(key)}
    fixed = sorted(changed - _MAY_CHANGE)
    if fixed:
        why = (
            "random numbers are drawn before the first tick"
            if fixed == ["seed"]
            else "it is a part of the state"
        )
        raise CrowdsimError(
            f"{where}: {', '.join(fixed)} cannot change on the way: {why}. What can: "
            f"{', '.join(sorted(_MAY_CHANGE))}."
        )
    return "avoidance" in changed


class Rotation:
    """Two files that are written in turn, so that one of them is always whole and on the disk.

    Parameters
    ----------
    out : Path
        The recording beside which they lie.
    run_id : str
        Of the recording.
    every_ticks : int
        Ticks between checkpoints; 0 takes none but those that a caller takes.
    """

    def __init__(self, out: Path, run_id: str, every_ticks: int) -> None:
        self._names, self._every, self._next = checkpoint_names(out, run_id), every_ticks, 0
        if self._names[0].exists():  # of a run that goes on: the older one goes first
            self._next = int(
                not self._names[1].exists()
                or self._names[0].stat().st_mtime_ns > self._names[1].stat().st_mtime_ns
            )

    def is_due(self, tick: int) -> bool:
        """Return whether a checkpoint is to be taken after a tick."""
        return self._every > 0 and tick > 0 and tick % self._every == 0

    def take(self, simulation: Running) -> Path:
        """Write a checkpoint; the recording is committed first, so that it reaches at least as far."""
        if simulation.recorder is not None:
            simulation.recorder.writer.commit()
        path = self._names[self._next]
        write_checkpoint(path, checkpoint_of(simulation))
        self._next = 1 - self._next
        return path
