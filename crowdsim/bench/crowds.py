"""The crowd that every benchmark of avoidance steps, and how crowdsim's own models walk it.

Agents stand in rows and columns, each up to 0.22 m from its place, one to a square metre of free ground, with
radii of 0.2 to 0.25 m and speeds of 1.34 +/- 0.26 m/s. Each wants to go where another begins, already walks
in that direction, and may go 1.3 times as fast. Among pillars (0.6 m wide, about 5 m apart) the same agents
stand where no pillar does. None overlaps another or a pillar, since some peers refuse crowds that do.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.avoidance.model import AvoidanceModel, CrowdView, empty_choice
from crowdsim.avoidance.registry import model_named
from crowdsim.bodies.integrate import integrate
from crowdsim.geometry.cells import CellIndex
from crowdsim.geometry.walls import Walls, no_walls, walls_from_rings
from crowdsim.kernels.decorator import kernel
from crowdsim.kernels.threads import Team

TICK = 0.05  # s
NEIGHBOURS, RANGE = 10, 5.0  # of every model that has such parameters; RANGE in m
HORIZON, WALL_HORIZON = 5.0, 0.5  # s, of ORCA on either side: RVO2's examples take 5 to 10
SHARED = {"neighbour_count": NEIGHBOURS, "neighbour_distance": RANGE}
PARAMETERS: dict[str, dict[str, Any]] = {
    "orca": {"time_horizon": HORIZON, "time_horizon_walls": WALL_HORIZON},
    "sampled-hrvo": {"samples": 60},
}

JITTER = 0.22  # m: with columns 0.98 m apart, centres stay 0.54 m apart, more than two radii
PILLAR, EVERY = 0.6, 5  # Width in m; one stands in the place of one agent in 25.
SIGHT = 1.75  # m: farther than the fastest, at 2.86 m/s, gets in the walls' horizon, plus the largest radius
CELL = 1.5  # m, as in a run


@dataclass(frozen=True)
class Crowd:
    """Agents and pillars, the same for all simulators.

    Attributes
    ----------
    ground : str
        "open" or "pillars".
    ids : str
        "shuffled" or "spatial", which is by rows.
    position, goal, velocity : (n, 2) float64, m, m and m/s
        `velocity` is the preferred one too.
    radius, speed, maximum : (n,) float64, m, m/s and m/s
    pitch : float, m
        From one column to the next.
    side : float, m
        Of the square ground, whose lower left corner is (0, 0).
    pillar : (m, 2) float64, m
        Middles of pillars, by columns.
    """

    ground: str
    ids: str
    position: NDArray[np.float64]
    goal: NDArray[np.float64]
    velocity: NDArray[np.float64]
    radius: NDArray[np.float64]
    speed: NDArray[np.float64]
    maximum: NDArray[np.float64]
    pitch: float
    side: float
    pillar: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.radius)

    def pillar_rings(self) -> list[NDArray[np.float64]]:
        """Return the corners of each pillar, clockwise: the free ground is outside."""
        corner = np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, 1.0], [1.0, -1.0]]) * PILLAR / 2.0
        return list(self.pillar[:, None] + corner)


def crowd(agents: int, ground: str = "open", ids: str = "shuffled", seed: int = 1) -> Crowd:
    """Return a crowd; the ids change nothing but the order of rows."""
    taken = EVERY * EVERY if ground == "pillars" else 0
    columns = int(np.ceil(np.sqrt(agents)))
    while taken and columns * columns - (columns // EVERY) ** 2 < agents:
        columns += 1
    place = np.stack(np.meshgrid(np.arange(columns), np.arange(columns)), axis=-1).reshape(-1, 2)
    blocks = columns // EVERY
    at_pillar = ((place % EVERY == EVERY // 2) & (place < blocks * EVERY)).all(axis=1) & bool(taken)
    pitch = float(
        np.sqrt(1.0 + PILLAR * PILLAR * at_pillar.sum() / (~at_pillar).sum())
        * np.sqrt((~at_pillar).sum())
        / columns
    )
    rng = np.random.default_rng(seed)
    position = (place[~at_pillar][:agents] + 0.5) * pitch + rng.uniform(-JITTER, JITTER, (agents, 2))
    radius = rng.uniform(0.2, 0.25, agents)
    speed = np.clip(rng.normal(1.34, 0.26, agents), 0.5, 2.2)
    ring = rng.permutation(agents)
    goal = np.empty_like(position)
    goal[ring] = position[np.roll(ring, 1)]
    line = goal - position
    velocity = line * (speed / np.hypot(line[:, 0], line[:, 1]))[:, None]
    rows = rng.permutation(agents) if ids == "shuffled" else np.arange(agents)
    return Crowd(
        ground,
        ids,
        position[rows],
        goal[rows],
        velocity[rows],
        radius[rows],
        speed[rows],
        1.3 * speed[rows],
        pitch,
        columns * pitch,
        (place[at_pillar] + 0.5) * pitch,
    )


def walls_of(agents: Crowd) -> tuple[Walls, int]:
    """Return the walls of pillars, with a list for each block of EVERY x EVERY places,
    and how many blocks stand side by side.
    """
    if not len(agents.pillar):
        return no_walls(), 1
    walls = walls_from_rings(agents.pillar_rings())
    low, high = np.minimum(walls.start, walls.end), np.maximum(walls.start, walls.end)
    block, blocks = EVERY * agents.pitch, int(np.ceil(agents.side / (EVERY * agents.pitch)))
    starts, lists = [0], []
    for column in range(blocks):
        for row in range(blocks):
            corner = np.array([column, row]) * block
            near = np.flatnonzero(((low < corner + block + SIGHT) & (high > corner - SIGHT)).all(axis=1))
            lists.append(near.astype(np.int32))
            starts.append(starts[-1] + len(near))
    return walls._replace(
        zone_start=np.array(starts, dtype=np.int64), zone_wall=np.concatenate(lists)
    ), blocks


def parameters_of(name: str) -> Any:
    """Return the parameters of a model here: ten neighbours within 5 m where it has these,
    the numbers of PARAMETERS, and else its defaults.
    """
    parameters = model_named(name).Parameters
    known = getattr(parameters, "__dataclass_fields__", {})
    return parameters(
        **{key: value for key, value in SHARED.items() if key in known}, **PARAMETERS.get(name, {})
    )


@kernel
def find_blocks(start, stop, position, per_metre, blocks, zone):
    """Write the block, which is the row of the wall lists, that each of the rows start..stop stands in;
    an agent off the ground has the nearest.
    """
    for row in range(start, stop):
        column, line = int(position[row, 0] * per_metre), int(position[row, 1] * per_metre)
        zone[row] = min(max(column, 0), blocks - 1) * blocks + min(max(line, 0), blocks - 1)


class Walker:
    """A crowd that walks by one of crowdsim's models:
    index, choice and integration, as in a run, without all else that a run does.
    """

    def __init__(self, agents: Crowd, model: str, team: Team | None = None) -> None:
        count = len(agents)
        self.wish, self.radius, self.maximum = agents.velocity, agents.radius, agents.maximum
        self.position, self.velocity, self.reach = (
            agents.position.copy(),
            agents.velocity.copy(),
            np.full(count, np.inf, np.float32),
        )
        self.active, self.layer, self.zone = (
            np.ones(count, np.uint8),
            np.zeros(count, np.int32),
            np.zeros(count, np.int64),
        )
        self.entity, self.out = np.arange(1, count + 1), empty_choice(count)
        self.tentative, self.walked = np.empty((count, 2)), np.empty((count, 2))
        self.walls, self._blocks = walls_of(agents)
        self._per_block = 1.0 / (EVERY * agents.pitch)
        self.index, self.team = CellIndex(CELL), team or Team()
        self.model: AvoidanceModel = model_named(model)(parameters_of(model))
        # s by the wall clock since they were set to 0
        self.stages: dict[str, float] = {"index": 0.0, "choose": 0.0, "integrate": 0.0}

    def step(self) -> None:
        """Walk one tick."""
        begin = time.perf_counter()
        if self._blocks > 1:
            self.team.run(
                find_blocks, len(self.entity), self.position, self._per_block, self._blocks, self.zone
            )
        cells = self.index.build(self.position, self.layer)
        indexed = time.perf_counter()
        view = CrowdView(
            self.entity,
            self.position,
            self.velocity,
            self.wish,
            self.radius,
            self.maximum,
            self.active,
            self.zone,
            self.layer,
            cells,
            self.walls,
            self.reach,
        )
        self.model.choose(view, TICK, self.team, self.out)
        chosen = time.perf_counter()
        self.team.run(
            integrate,
            len(self.entity),
            self.position,
            self.out.velocity,
            self.maximum,
            TICK,
            self.walked,
            self.tentative,
        )
        self.position, self.tentative = self.tentative, self.position
        self.velocity, self.walked = self.walked, self.velocity
        for name, spent in (
            ("index", indexed - begin),
            ("choose", chosen - indexed),
            ("integrate", time.perf_counter() - chosen),
        ):
            self.stages[name] += spent

    def close(self) -> None:
        """Stop the threads."""
        self.team.close()
