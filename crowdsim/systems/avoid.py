"""Avoid: avoidance models turn preferred velocities into safe ones, each for the agents of its groups."""

# mypy: allow-untyped-defs

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.avoidance.explain import REASON_DTYPE, explain_choices
from crowdsim.avoidance.guard import ModelError, check_velocities
from crowdsim.avoidance.model import (
    KEEPS_ITS_VELOCITY,
    AvoidanceModel,
    Choice,
    CrowdView,
    copy_choice,
    empty_choice,
)
from crowdsim.geometry.lengths import hypots
from crowdsim.kernels.decorator import lean_kernel
from crowdsim.saved import Arrays, Saved
from crowdsim.setup.build import avoidance_models, model_of_group
from crowdsim.setup.identity import Selection, selected
from crowdsim.systems.base.system import Setup, Tick, TickSystem, shares_in_plan
from crowdsim.world.columns import Diagnosis
from crowdsim.world.states import HELD, OBSTACLE, RIDING, WALKING

# numpy compares numbers of the column's own type soonest
_RELAXED, _INFEASIBLE = np.uint8(Diagnosis.RELAXED), np.uint8(Diagnosis.INFEASIBLE)
NONE_DRIVES: NDArray[np.bool_] = np.zeros(0, dtype=np.bool_)


@lean_kernel
def find_active(start, stop, activity, is_driven, is_yielding, drives, out):
    """Write how each of a range is seen by models, (n,) uint8 as in `CrowdView.active`; return how many
    obstacles there are.

    All but `drives`, (n,) or (0,) bool, the vehicles, are columns of agents. Twin: `tests/reference/rows.py`.
    """
    obstacles = 0
    for row in range(np.uint64(start), np.uint64(stop)):
        rides = activity[row] == RIDING
        if activity[row] == OBSTACLE or (rides and drives.size > 0 and drives[row]):
            out[row] = KEEPS_ITS_VELOCITY
            obstacles += 1
        else:
            goes = activity[row] == WALKING or is_driven[row] != 0 or is_yielding[row] != 0
            out[row] = goes and not rides and is_driven[row] != HELD
    return obstacles


class Avoid(TickSystem):
    """Let the models choose a velocity for each agent that walks.

    Every model sees the whole crowd as it was at the end of the last tick, and chooses for its own agents:
    each avoids agents of all models alike, and the order of the models changes nothing.

    Attributes
    ----------
    models : tuple of AvoidanceModel
    explained : Selection or None
        The agents with choices that are explained in every tick, those that the scenario names where the run
        is recorded; may be set anew between ticks.
    """

    reads = (
        "entity",
        "group",
        "position",
        "velocity",
        "preferred_velocity",
        "radius",
        "maximum_speed",
        "activity",
        "surface",
        "layer",
        "neighbour_reach",
        "is_driven",
        "is_yielding",
        "diagnosis",
    )
    writes = ("chosen_velocity", "diagnosis", "blocker", "neighbour_reach", "neighbour_count", "samples")
    counts = ("relaxed", "infeasible")

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        scenario, agents = setup.scenario, setup.built.all_agents
        wanted = scenario.record.explain
        self.explained: Selection | None = (
            selected(scenario, agents, wanted) if wanted and setup.recorder is not None else None
        )
        self.models = tuple(avoidance_models(scenario))
        self._model_of_group = np.array(model_of_group(scenario), dtype=np.int64)
        self._names = setup.built.names

    def process(self, tick: Tick) -> None:
        """Show the models the crowd, and take what each chose for its own agents."""
        world, agents = self.world, self.world.agents
        assert tick.cells is not None, "Index runs before Avoid"
        active = np.empty(len(agents), dtype=np.uint8)
        # vehicles decide by themselves, before all others
        drives = NONE_DRIVES if world.vehicle_groups is None else world.drives()
        found = tick.team.run(
            find_active, len(agents), agents.activity, agents.is_driven, agents.is_yielding, drives, active
        )
        obstacles = sum(found)
        # On slopes in the preferred direction; Integrate keeps the limit in the direction that is chosen.
        fastest = (
            agents.maximum_speed
            if world.is_even
            else agents.maximum_speed * shares_in_plan(self.world, tick, agents.preferred_velocity)
        )
        if tick.limits is not None:  # none is slower than it is to be
            wanted = hypots(*agents.preferred_velocity.T)
            fastest = np.minimum(fastest, np.maximum(tick.limits, wanted))
        view = CrowdView(
            agents.entity, agents.position, agents.velocity, agents.preferred_velocity, agents.radius,
            fastest, active, world.polygons(), agents.layer, tick.cells, world.walls, agents.neighbour_reach,
        )  # fmt: skip
        if self.explained is not None:
            tick.reasons = np.zeros(0, dtype=REASON_DTYPE)
        agents.samples[:] = 0
        choice = Choice(
            agents.chosen_velocity, agents.diagnosis, agents.blocker, agents.neighbour_count, agents.samples
        )
        if len(self.models) == 1:
            self._ask(self.models[0], view, tick, choice)
        else:
            whose = np.full(len(agents), -1, dtype=np.int64)  # obstacles have no model
            chooses = active != KEEPS_ITS_VELOCITY
            whose[chooses] = self._model_of_group[agents.group[chooses]]
            for number, model in enumerate(self.models):
                own = whose == number
                part = empty_choice(len(agents))
                self._ask(model, view._replace(asked=own.view(np.uint8)), tick, part)
                copy_choice(part, choice, own)
        if obstacles:
            rows = np.flatnonzero(active == KEEPS_ITS_VELOCITY)
            agents.chosen_velocity[rows] = agents.velocity[rows]
            agents.diagnosis[rows] = Diagnosis.NONE
        tick.counts["relaxed"] = self.count_of(agents.diagnosis == _RELAXED)
        tick.counts["infeasible"] = self.count_of(agents.diagnosis == _INFEASIBLE)

    def _ask(self, model: AvoidanceModel, view: CrowdView, tick: Tick, out: Choice) -> None:
        try:
            model.prepare(len(view.entity))
            model.choose(view, tick.length, tick.team, out)
            if self.explained is not None and tick.reasons is not None:
                rows = np.flatnonzero(view.deciding() == 1)
                rows = rows[self.explained.rows(self.world.agents)[rows]]
                tick.reasons = np.concatenate(
                    [tick.reasons, explain_choices(model, view, tick.length, rows, out)]
                )
            check_velocities(
                f'the model "{model.name}"', out.velocity, view.maximum_speed, view.deciding(), tick.team
            )
        except ModelError as error:
            where = f"tick {tick.number}"
            if error.row >= 0:
                where += f", agent {self._names.of(int(view.entity[error.row])).removeprefix('agent ')}"
            raise ModelError(f"{where}: {error}", error.row) from error.__cause__

    def state(self) -> dict[str, NDArray[Any]]:
        """Return what the models remember."""
        return {
            f"{number}/{name}": array
            for number, model in enumerate(self.models)
            for name, array in model.state().items()
        }

    def restore(self, state: Arrays | Saved) -> None:
        """Take back what `state()` gave; what the numbers of a model mean is known to it alone."""
        saved = Saved.of(state)
        for number, model in enumerate(self.models):
            model.restore(saved.below(f"{number}/").like(model.state()))
