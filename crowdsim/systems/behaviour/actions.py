"""What agents do in their states. An action takes all agents that are in states of one kind: it lets them
begin, hears of those that have got somewhere, and looks at the others now and then.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.bodies.places import PlaceParameters
from crowdsim.saved import Saved
from crowdsim.scenario.behaviours import State
from crowdsim.systems.base.system import Setup, Tick, ticks_of
from crowdsim.systems.behaviour.conditions import Conditions
from crowdsim.systems.behaviour.draws import Draws
from crowdsim.systems.behaviour.errands import Errands
from crowdsim.systems.goals.places import Places
from crowdsim.world.columns import AgentColumns, Errand, Wait
from crowdsim.world.world import World

LOOK_S = 0.25  # How often agents look where others are: as fast as people react.


class Crew:
    """What actions work with.

    Attributes
    ----------
    world : World
    setup : Setup
    errands : Errands
    draws : Draws
    conditions : Conditions
    places : Places
    """

    def __init__(self, setup: Setup) -> None:
        self.world: World = setup.world
        self.setup = setup
        self.tick_length = setup.scenario.tick
        self.look = max(1, ticks_of(LOOK_S, self.tick_length))
        self.errands = Errands(setup.world)
        self.draws = Draws(setup.world, setup.scenario.seed)
        self.conditions = Conditions(setup.built)
        self.places = Places(setup.world, setup.of_bodies(PlaceParameters), setup.scenario.seed)

    @property
    def agents(self) -> AgentColumns:
        """The columns of the agents."""
        return self.world.agents

    def pause(self, rows: NDArray[np.int64], seconds: NDArray[np.float64], tick: int) -> None:
        """Let agents, (k,) rows, do nothing for a while, (k,) s."""
        ticks = np.ceil(seconds / self.tick_length - 1e-6).astype(np.int64)
        self.agents.pause_until[rows] = tick + np.maximum(0, ticks)


class Action:
    """What agents do in states of one kind.

    Parameters
    ----------
    crew : Crew
    states : dict of int to State
        Of the kind, by their numbers.
    """

    looks = False  # whether `look` is to be called for all its agents every `Crew.look` ticks

    def __init__(self, crew: Crew, states: dict[int, State]) -> None:
        self.crew, self.states = crew, states

    def begin(self, tick: Tick, number: int, rows: NDArray[np.int64]) -> None:
        """Let agents, (k,) rows, begin a state."""
        raise NotImplementedError

    def arrived(self, tick: Tick, number: int, rows: NDArray[np.int64]) -> None:
        """Take note of agents that have come to where they were sent; done, if not said otherwise."""
        self.crew.errands.stop(rows, Wait.NOTHING)
        self.crew.agents.errand[rows] = Errand.DONE

    def rested(self, tick: Tick, number: int, rows: NDArray[np.int64]) -> None:
        """Take note of agents whose pause is over; done, if not said otherwise."""
        self.crew.agents.errand[rows] = Errand.DONE

    def look(self, tick: Tick, number: int, rows: NDArray[np.int64]) -> None:
        """Look at all agents in a state, where `looks` says so."""

    def end(self, number: int, rows: NDArray[np.int64]) -> None:
        """Let agents leave a state."""

    def every_tick(self, tick: Tick) -> None:
        """Do what is to be done in every tick."""

    def check(self, saved: Saved, number: int, rows: NDArray[np.int64]) -> None:
        """Require that agents in a state that was taken back are as they can be."""

    def state(self) -> dict[str, NDArray[Any]]:
        """Return what lives between ticks."""
        return {}

    def restore(self, saved: Saved) -> None:
        """Take back what `state()` gave."""


class GoTo(Action):
    """Go to a goal."""

    def begin(self, tick: Tick, number: int, rows: NDArray[np.int64]) -> None:
        """Send them there."""
        goal = self.states[number].goals[0]
        self.crew.errands.go(rows, np.full(len(rows), goal, dtype=np.int32))


class Leave(GoTo):
    """Go to a goal and leave the world there, which Arrive sees to."""


class Stay(GoTo):
    """Go into a region, take a place of one's own there, and stand."""

    def arrived(self, tick: Tick, number: int, rows: NDArray[np.int64]) -> None:
        """Let them take their places; those that stay in a region have its number as their step."""
        agents = self.crew.agents
        regions = self._regions(number, rows)
        self.crew.errands.stop(rows, Wait.STAY)
        agents.errand[rows], agents.step[rows] = Errand.NONE, regions
        self.crew.places.take(tick, rows, regions, self.crew.world.polygons())

    def _regions(self, number: int, rows: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the region that each has come to, (k,)."""
        goals, wanted = self.crew.setup.scenario.goals, self.states[number].goals[0]
        found = np.full(len(rows), wanted, dtype=np.int32)
        x, y = self.crew.agents.position[rows].T
        for part in goals[wanted].parts:
            inside = shapely.intersects_xy(goals[part].area, x, y)
            found[inside & (found == wanted)] = part
        return found


class Waiting(Action):
    """Stand for a time."""

    def begin(self, tick: Tick, number: int, rows: NDArray[np.int64]) -> None:
        """Let them stand until then."""
        time = self.states[number].time
        assert time is not None
        self.crew.errands.stop(rows, Wait.TIME)
        self.crew.pause(rows, self.crew.draws.of(time, rows), tick.number)


class WaitUntil(Action):
    """Stand until something is so; `Behave` asks whether it is."""

    def begin(self, tick: Tick, number: int, rows: NDArray[np.int64]) -> None:
        """Let them stand."""
        self.crew.errands.stop(rows, Wait.SIGNAL)


class Stand(Action):
    """Stand."""

    def begin(self, tick: Tick, number: int, rows: NDArray[np.int64]) -> None:
        """Let them stand."""
        self.crew.errands.stop(rows, Wait.STAY)


class Choose(Action):
    """Go on at once."""

    def begin(self, tick: Tick, number: int, rows: NDArray[np.int64]) -> None:
        """They are done."""
        self.crew.agents.errand[rows] = Errand.DONE


def states_of_kinds(states: Sequence[State]) -> dict[str, dict[int, State]]:
    """Return the states by kind and number."""
    found: dict[str, dict[int, State]] = {}
    for number, state in enumerate(states):
        found.setdefault(state.kind, {})[number] = state
    return found
