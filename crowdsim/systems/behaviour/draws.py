"""What agents draw for what they do: times, places, which state comes next."""

# mypy: allow-untyped-defs

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.kernels.decorator import kernel
from crowdsim.scenario.distributions import Distribution
from crowdsim.setup.draws import draw_distribution
from crowdsim.world.random import Stream, philox, uniform01
from crowdsim.world.world import World


@kernel
def keys_of_draws(stream, key, draws, out):
    """Give each draw of each agent a key of its own.

    Parameters
    ----------
    stream : int
    key : (k,) uint64
        Of the agents.
    draws : (k,) int32
        How often they have drawn before.
    out : (k,) uint64
        Receives the keys.
    """
    for row in range(key.size):
        out[row] = philox(np.uint64(0), np.uint64(stream), key[row], np.uint64(draws[row]))


@kernel
def shares_drawn(seed, stream, key, out):
    """Draw a number in (0, 1) for each key, (k,) uint64, into `out`, (k,) float64."""
    for row in range(key.size):
        out[row] = uniform01(np.uint64(seed), np.uint64(stream), key[row], np.uint64(0))


class Draws:
    """Numbers that agents draw, each a function of the seed, of the agent and of how often it has drawn.

    Parameters
    ----------
    world : World
    seed : int
    """

    def __init__(self, world: World, seed: int) -> None:
        self._world, self._seed = world, seed

    def keys(self, rows: NDArray[np.int64], stream: Stream = Stream.STATE) -> NDArray[np.uint64]:
        """Return a new key for each of some agents, (k,)."""
        found = np.empty(len(rows), dtype=np.uint64)
        agents = self._world.agents
        keys_of_draws(int(stream), agents.key[rows], agents.draws[rows], found)
        agents.draws[rows] += 1
        return found

    def of(
        self, distribution: Distribution, rows: NDArray[np.int64], stream: Stream = Stream.STATE
    ) -> NDArray[np.float64]:
        """Return a number of a distribution for each of some agents, (k,)."""
        if distribution.kind == "number":
            return np.full(len(rows), distribution.low)
        return draw_distribution(distribution, self._seed, int(stream), self.keys(rows, stream))

    def shares(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return a number in (0, 1) for each of some agents, (k,)."""
        found = np.empty(len(rows))
        shares_drawn(self._seed, int(Stream.STATE), self.keys(rows), found)
        return found

    def choices(self, weights: NDArray[Any], rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return for each of some agents, (k,), one of several things by their weights."""
        if len(weights) == 1:
            return np.zeros(len(rows), dtype=np.int64)
        edges = np.cumsum(weights)
        found = np.searchsorted(edges / edges[-1], self.shares(rows), side="right")
        return np.minimum(found, len(weights) - 1)
