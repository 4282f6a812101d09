"""Agree: members of a party that go to the nearest of several goals take the same one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdsim.systems.base.parties import PartyRows, groups_with_leaders
from crowdsim.systems.base.system import Setup, Tick, TickSystem
from crowdsim.systems.paths.lost_paths import LOST
from crowdsim.systems.paths.sending import send
from crowdsim.world.columns import AgentState, PathStatus
from crowdsim.world.events import ChoiceReason, EventKind, chose_value
from crowdsim.world.states import has_path


class Agree(TickSystem):
    """Send members of a party to the goal that most of them head for, or that their leader does.

    Each member is sent once for each goal of its list. One that finds no path there goes on to the nearest of
    them for itself. Where members choose by time (`Choose`), those that have chosen another goal follow the
    others, and keep that choice as long as any.
    """

    reads = (
        "entity", "group", "index", "party", "party_choice", "activity", "goal", "stage", "itinerary",
        "path_status", "goal_piece", "is_driven", "start_tick", "choice",
    )  # fmt: skip
    writes = (
        "activity", "goal", "guessed", "replan_wish", "remaining", "party_choice", "choice",
        "choice_tick", *LOST,
    )  # fmt: skip
    counts = ()

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        scenario = setup.scenario
        self._is_choice = np.array([goal.kind == "nearest_of" for goal in scenario.goals], dtype=np.bool_)
        self._leads = groups_with_leaders(scenario)
        self._rows = PartyRows()

    @property
    def is_idle(self) -> bool:
        """Whether no agents form parties, or none chooses among goals."""
        return not self.world.has_parties or not (self._is_choice.any() or self.world.has_choices)

    def process(self, tick: Tick) -> None:
        """Look at members that have a path to a goal that is several."""
        if self.is_idle or not len(self.world.agents):
            return
        world, agents, parties = self.world, self.world.agents, self._rows
        parties.find(agents)
        rows = parties.members
        goal = agents.goal[rows]
        fixed = (goal >= 0) & (goal < len(self._is_choice))
        chooses = fixed & self._is_choice[np.where(fixed, goal, 0)]
        self._give_up(tick, rows[fixed & ~chooses])
        chooses &= (agents.activity[rows] == AgentState.WALKING) & (agents.is_driven[rows] == 0)
        chooses &= has_path(agents.path_status[rows]) & (agents.goal_piece[rows] >= 0)
        chosen = np.full(len(rows), -1, dtype=np.int64)
        chosen[chooses] = world.goals.piece_source[agents.goal_piece[rows[chooses]]]
        for own, leads in self._at_odds(chosen):
            self._agree(tick, rows[own], chosen[own], leads)
        if world.has_choices:
            walks = (agents.activity[rows] == AgentState.WALKING) & (agents.is_driven[rows] == 0)
            chosen = np.where(walks & (agents.choice[rows] >= 0), agents.goal[rows], -1)
            for own, leads in self._at_odds(chosen):
                self._follow(tick, rows[own], chosen[own], leads)

    def _at_odds(self, chosen: NDArray[np.int64]) -> list[tuple[slice, bool]]:
        """Return the parties whose members head for different goals, as slices of the members, and whether
        they have a leader; -1 is for none that counts.
        """
        parties = self._rows
        party = np.repeat(np.arange(len(parties.label)), np.diff(parties.first))
        low, high = np.full(len(parties.label), np.iinfo(np.int64).max), np.full(len(parties.label), -1)
        np.minimum.at(low, party[chosen >= 0], chosen[chosen >= 0])
        np.maximum.at(high, party[chosen >= 0], chosen[chosen >= 0])
        return [
            (
                slice(int(parties.first[number]), int(parties.first[number + 1])),
                bool(self._leads[parties.label[number, 0]]),
            )
            for number in np.flatnonzero(low < high).tolist()
        ]

    @staticmethod
    def _best(own: NDArray[np.bool_], chosen: NDArray[np.int64], leads: bool) -> int:
        """Return the goal for which most of a party head, (k,) bool, or their leader."""
        if leads and own[0]:
            return int(chosen[0])
        # of equally many the one that the first of them heads for
        known, first, count = np.unique(chosen[own], return_index=True, return_counts=True)
        return int(known[np.lexsort((first, -count))[0]])

    def _follow(self, tick: Tick, rows: NDArray[np.int64], chosen: NDArray[np.int64], leads: bool) -> None:
        """Send those members of a party after the others that have chosen another goal."""
        agents = self.world.agents
        for choice in np.unique(agents.choice[rows[chosen >= 0]]).tolist():
            own = (chosen >= 0) & (agents.choice[rows] == choice)
            best = self._best(own, chosen, leads)
            others = rows[own & (chosen != best)]
            if not len(others):
                continue
            goal = np.full(len(others), best, dtype=np.int32)
            reason = np.full(len(others), int(ChoiceReason.PARTY), dtype=np.int64)
            before = agents.goal[others].astype(np.int64)
            self.world.events.note(
                tick.number,
                EventKind.CHOSE,
                agents.entity[others],
                np.zeros((len(others), 2)),
                chose_value(before, goal.astype(np.int64), reason),
            )
            send(self.world, others, goal, tick.number)
            agents.choice[others], agents.choice_tick[others] = choice, tick.number

    def _agree(self, tick: Tick, rows: NDArray[np.int64], chosen: NDArray[np.int64], leads: bool) -> None:
        """Send those members of a party elsewhere that head for another of its goals than most."""
        agents = self.world.agents
        for goal in np.unique(agents.goal[rows[chosen >= 0]]).tolist():
            own = (chosen >= 0) & (agents.goal[rows] == goal)
            best = self._best(own, chosen, leads)
            others = rows[own & (chosen != best)]
            others = others[agents.party_choice[others] != agents.stage[others] + 1]
            agents.party_choice[others] = agents.stage[others] + 1
            send(self.world, others, np.full(len(others), best, dtype=np.int32), tick.number)

    def _give_up(self, tick: Tick, rows: NDArray[np.int64]) -> None:
        """Let members choose for themselves that were sent, and have no path there."""
        world, agents = self.world, self.world.agents
        status = agents.path_status[rows]
        lost = (status == PathStatus.UNREACHABLE) | (status == PathStatus.ENCLOSED)
        lost |= status == PathStatus.NEAREST_REACHABLE
        lost &= (agents.party_choice[rows] == agents.stage[rows] + 1) & (agents.is_driven[rows] == 0)
        lost &= (agents.activity[rows] == AgentState.WALKING) | (agents.activity[rows] == AgentState.STANDING)
        for row in rows[lost].tolist():
            goals = world.itineraries[int(agents.itinerary[row])].goals
            own = goals[int(agents.stage[row])] if agents.stage[row] < len(goals) else -1
            if own >= 0 and self._is_choice[own]:
                send(world, np.array([row]), np.array([own], dtype=np.int32), tick.number)
