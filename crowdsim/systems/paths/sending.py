"""Sending agents elsewhere, or letting them stand: the one place at which that happens."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdsim.systems.paths.lost_paths import lose_paths, wish_to_replan
from crowdsim.world.columns import AgentState, ReplanCause, Stepping, Wait
from crowdsim.world.events import EventKind
from crowdsim.world.riding import RideStep, let_go
from crowdsim.world.world import World


def send(
    world: World, rows: NDArray[np.int64], number: NDArray[np.int32], tick: int, *, to_gate: bool = False
) -> NDArray[np.int64]:
    """Send agents to goals; they ask for a path in the next tick. Return the rows of those that do.

    Parameters
    ----------
    world : World
    rows : (k,) int64
    number : (k,) int32
        The goal of each.
    tick : int
        In which the events are noted.
    to_gate : bool
        Whether these are places at a connection, on the way to goals behind it.

    Notes
    -----
    A goal where the path of an agent leads already is no new request ([Pathfinding undated], section 7).
    """
    agents = world.agents
    if world.has_choices:  # what was chosen before is no longer what it does
        agents.choice[rows] = -1
    is_set = np.flatnonzero(number >= world.destinations.fixed)
    world.events.note(
        tick,
        EventKind.SENT,
        agents.entity[rows[is_set]],
        world.destinations.places_of(number[is_set]),
        number[is_set],
    )
    if world.riding is not None and not to_gate:
        is_left = _turn_at_gates(world, rows, number, tick)
        rows, number = rows[is_left], number[is_left]
    keeps = world.planning.keep_paths(rows, number)
    agents.goal[rows[keeps]] = number[keeps]
    rows, number = rows[~keeps], number[~keeps]
    had_path = (
        (agents.activity[rows] == AgentState.WALKING)
        & (agents.goal[rows] >= 0)
        & (agents.goal[rows] != number)
    )
    wish_to_replan(agents, rows[had_path], ReplanCause.GOAL_MOVED)
    world.planning.lose_paths(rows)
    waits = agents.start_tick[rows] > world.tick
    agents.activity[rows] = np.where(waits, AgentState.WAITING, AgentState.WALKING)
    agents.goal[rows], agents.guessed[rows] = number, -1
    world.planning.forget(agents.entity[rows])
    return rows


def let_stand(world: World, rows: NDArray[np.int64]) -> None:
    """Take the goals of agents, (k,) rows: they stand where they are."""
    agents = world.agents
    if world.riding is not None:
        rows = rows[_turn_at_gates(world, rows, np.full(len(rows), -1, dtype=np.int32), world.tick + 1)]
    world.planning.lose_paths(rows)
    agents.activity[rows], agents.goal[rows], agents.guessed[rows] = AgentState.STANDING, -1, -1
    agents.is_yielding[rows] = Stepping.NOWHERE
    lose_paths(agents, rows)
    world.planning.forget(agents.entity[rows])


def _turn_at_gates(
    world: World, rows: NDArray[np.int64], number: NDArray[np.int32], tick: int
) -> NDArray[np.bool_]:
    """Let agents at connections be bound for other goals, (k,), -1 is none; return which have to be sent
    there: those that ride ride on, and those that go through the connection to this goal already go on.
    """
    agents = world.agents
    step = agents.ride_step[rows]
    rides, comes = step >= RideStep.RIDING, (step != RideStep.NONE) & (step < RideStep.RIDING)
    agents.bound_for[rows[rides]] = agents.goal[rows[rides]] = number[rides]
    same = comes & (agents.bound_for[rows] == number) & (number >= 0)
    # those that go on in the same line still wait for it
    agents.waits[rows[same & (step == RideStep.IN_LINE)]] = Wait.CONNECTION
    leaves = rows[comes & ~same]
    waited = leaves[agents.ride_step[leaves] == RideStep.IN_LINE]
    if len(waited):
        assert world.riding is not None
        gates = [world.riding.gates[gate] for gate in agents.gate[waited].tolist()]
        value = np.array([gate.value for gate in gates], dtype=np.int64)
        world.events.note(tick, EventKind.LEFT_GATE, agents.entity[waited], agents.position[waited], value)
    let_go(agents, leaves)
    found: NDArray[np.bool_] = ~rides & ~same
    return found
