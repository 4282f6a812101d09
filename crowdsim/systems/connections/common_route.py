"""Members of a party take the same connection, or all of them none."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.setup.routes import Chosen, Legs, Routes
from crowdsim.systems.base.parties import PartyRows, groups_with_leaders
from crowdsim.systems.base.system import Setup
from crowdsim.world.columns import AgentState, PathStatus
from crowdsim.world.riding import RideStep

PAST_M = 3.0  # So near to the end of a connection one that came out of it does not go back.
_WALK = (-1, -1)  # In place of the gates where one goes in and comes out.


class _Vote(NamedTuple):
    """What a member does, or would do if it were alone.

    Attributes
    ----------
    option : (int, int)
        Gates where it goes in and comes out, or `_WALK`.
    seconds : float, s
        How long it takes to its goal; of those that have chosen before only for walks.
    row : int
    place : int
        Among those that choose now; -1 for those that have chosen before.
    """

    option: tuple[int, int]
    seconds: float
    row: int
    place: int


class _Choosing(NamedTuple):
    """Agents that choose now, each for itself so far; see `CommonRoute.agree`."""

    chosen: Chosen
    legs: Legs
    may: NDArray[np.bool_]
    pairs: dict[tuple[int, int], int]

    def suits(self, option: tuple[int, int], vote: _Vote, votes: list[_Vote]) -> bool:
        """Return whether a member can do what others do, and is not led back by it."""
        row = vote.place
        near = PAST_M / float(self.legs.speed[row])
        if option == _WALK:
            # those that walk may have the connection behind them that this one still needs
            behind = float(self.chosen.onward[row, vote.option[1]]) + near
            return bool(np.isfinite(self.legs.walk[row])) and any(
                each.seconds > behind for each in votes if each.option == _WALK
            )
        gate, out = option
        leads_on = self.may[row, self.pairs[option]] & np.isfinite(self.legs.to_gate[row, gate])
        onward = float(self.chosen.onward[row, out])
        is_past = vote.seconds <= onward + min(near, float(self.legs.to_gate[row, out]))
        return bool(leads_on) and onward < np.inf and not is_past


class CommonRoute:
    """What members of a party do that have the same goal: what most of them do, or their leader.

    A member that this would not lead to the goal, or back from where it has got to, goes as it would alone.

    Parameters
    ----------
    setup : Setup
    """

    def __init__(self, setup: Setup) -> None:
        self._world = setup.world
        self._leads = groups_with_leaders(setup.scenario)
        self._parties = PartyRows()

    def agree(
        self, rows: NDArray[np.int64], chosen: Chosen, legs: Legs, may: NDArray[np.bool_], routes: Routes
    ) -> Chosen:
        """Return what agents, (k,) rows, do.

        Parameters
        ----------
        rows : (k,) int64
        chosen : Chosen
            What each would do if it were alone.
        legs : Legs
        may : (k, p) bool
            Which pairs of gates each may use.
        routes : Routes
        """
        agents, parties = self._world.agents, self._parties
        if not self._world.has_parties:
            return chosen
        parties.find(agents)
        place = np.full(len(agents), -1, dtype=np.int64)
        place[rows] = np.arange(len(rows))
        pairs = zip(routes.begin.tolist(), routes.end.tolist(), strict=True)
        choosing = _Choosing(chosen, legs, may, {each: number for number, each in enumerate(pairs)})
        gate, gate_out = chosen.gate.copy(), chosen.gate_out.copy()
        party = np.repeat(np.arange(len(parties.label)), np.diff(parties.first))
        for number in np.unique(party[place[parties.members] >= 0]).tolist():
            members = parties.members[parties.first[number] : parties.first[number + 1]]
            bound = np.where(
                agents.ride_step[members] == RideStep.NONE, agents.goal[members], agents.bound_for[members]
            )
            for goal in np.unique(bound[place[members] >= 0]).tolist():
                own = members[bound == goal]
                votes = self._votes(own, place[own], chosen)
                leads = bool(self._leads[parties.label[number, 0]] and votes and votes[0].row == members[0])
                options = _ordered(votes, leads=leads)
                for vote in votes if len(options) > 1 else ():
                    if vote.place >= 0:
                        gate[vote.place], gate_out[vote.place] = next(
                            each
                            for each in options
                            if each == vote.option or choosing.suits(each, vote, votes)
                        )
        return chosen._replace(gate=gate, gate_out=gate_out)

    def _votes(self, rows: NDArray[np.int64], place: NDArray[np.int64], chosen: Chosen) -> list[_Vote]:
        """Return what members, (k,) rows, do, or would do: nothing of those that do not go to their goal."""
        agents, found = self._world.agents, list[_Vote]()
        for row, number in zip(rows.tolist(), place.tolist(), strict=True):
            if number >= 0:
                option = int(chosen.gate[number]), int(chosen.gate_out[number])
                vote = _Vote(option, float(chosen.seconds[number]), row, number)
            elif agents.ride_step[row] != RideStep.NONE:
                vote = _Vote((int(agents.gate[row]), int(agents.gate_out[row])), 0.0, row, -1)
            else:
                walks = agents.activity[row] == AgentState.WALKING
                walks &= agents.path_status[row] != PathStatus.NONE
                speed = max(float(agents.desired_speed[row]), 1e-3)
                vote = _Vote(_WALK, float(agents.remaining[row]) / speed if walks else np.inf, row, -1)
            if vote.seconds < np.inf:  # not so nan, of a path that is still searched for
                found.append(vote)
        return found


def _ordered(votes: list[_Vote], *, leads: bool) -> list[tuple[int, int]]:
    """Return what members do: first what their leader does, the first of them, then what most do; of equally
    many what the first of them does.
    """
    options = [each.option for each in votes]
    found = sorted(set(options), key=lambda each: (-options.count(each), options.index(each)))
    if leads and options:
        found.sort(key=lambda each: each != options[0])
    return found
