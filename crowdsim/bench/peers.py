"""Other simulators that pip installs, each stepping the crowd that ours steps.

Each builder takes a `Crowd` and returns a function that does one step of the peer, its neighbour search and
its integration inside. Peers get all that they take: positions, radii, speeds, goals, pillars, ten
neighbours, 5 m. All of them step on one thread; none offers more inside a step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from crowdsim.bench.crowds import HORIZON, NEIGHBOURS, RANGE, TICK, WALL_HORIZON, Crowd

JUPEDSIM_TICK = 0.01  # s, what JuPedSim takes by default; at 0.05 its forces overshoot
MARGIN = 50.0  # m of free ground round the crowd in JuPedSim, which has no open plane


@dataclass(frozen=True)
class Peer:
    """A model of another product.

    Attributes
    ----------
    product, model : str
    beside : str
        Our model that does the same work, or the nearest thing to it.
    alike : str
        "same" where both compute the same velocities, "kind" where the idea is the same, "other" where it is
        another kind of model.
    build : callable
        Given a `Crowd`, returns a step, and a function that returns more about the last one, or None.
    tick : float, s
    most_agents : int
        More would take minutes for a step.
    """

    product: str
    model: str
    beside: str
    alike: str
    build: Callable[[Crowd], tuple[Callable[[], Any], Callable[[int], dict[str, float]] | None]]
    tick: float = TICK
    most_agents: int = 1_000_000


def pyrvo_simulator(agents: Crowd) -> Any:
    """Return RVO2, as the wheel `pyrvo` ships it, with a crowd in it."""
    import pyrvo

    simulator = pyrvo.RVOSimulator(TICK, RANGE, NEIGHBOURS, HORIZON, WALL_HORIZON, 0.25, 2.0)
    for row in range(len(agents)):
        simulator.add_agent(
            tuple(agents.position[row]),
            RANGE,
            NEIGHBOURS,
            HORIZON,
            WALL_HORIZON,
            float(agents.radius[row]),
            float(agents.maximum[row]),
            tuple(agents.velocity[row]),
        )
        simulator.set_agent_pref_velocity(row, tuple(agents.velocity[row]))
    for ring in agents.pillar_rings():
        simulator.add_obstacle([tuple(corner) for corner in ring[::-1].tolist()])  # counter-clockwise
    simulator.process_obstacles()
    return simulator


def _pyrvo(agents: Crowd) -> tuple[Callable[[], Any], None]:
    return pyrvo_simulator(agents).do_step, None


def _jupedsim(model: str) -> Callable[[Crowd], tuple[Callable[[], Any], Callable[[int], dict[str, float]]]]:
    """Return the builder of a model of JuPedSim:
    all agents steer straight to their goals, the router works as ever.
    """

    def build(agents: Crowd) -> tuple[Callable[[], Any], Callable[[int], dict[str, float]]]:
        """Return JuPedSim's step of a crowd, and a function for the share of its steering."""
        import jupedsim
        import shapely

        ground = shapely.box(-MARGIN, -MARGIN, agents.side + MARGIN, agents.side + MARGIN)
        ground = shapely.Polygon(ground.exterior, [ring.tolist() for ring in agents.pillar_rings()])
        simulation = jupedsim.Simulation(model=getattr(jupedsim, model)(), geometry=ground, dt=JUPEDSIM_TICK)
        stage = simulation.add_direct_steering_stage()
        journey = simulation.add_journey(jupedsim.JourneyDescription([stage]))
        parameters = getattr(jupedsim, f"{model}AgentParameters")
        for row in range(len(agents)):
            values = {
                "position": tuple(agents.position[row]),
                "desired_speed": float(agents.speed[row]),
                "journey_id": journey,
                "stage_id": stage,
            }
            # an ellipse that grows with speed: its least half axis is the radius
            if model == "GeneralizedCentrifugalForceModel":
                values |= {"a_min": float(agents.radius[row]), "b_min": float(agents.radius[row])}
            else:
                values["radius"] = float(agents.radius[row])
            agent = simulation.add_agent(parameters(**values))
            simulation.agent(agent).target = tuple(agents.goal[row])
        simulation.set_tracing(True)

        def more(_: int) -> dict[str, float]:
            trace = simulation.get_last_trace()
            # of the last step; the rest is mostly routing
            return {"steering_share": trace.operational_level_duration / max(1, trace.iteration_duration)}

        return simulation.iterate, more

    return build


def _navground(behaviour: str) -> Callable[[Crowd], tuple[Callable[[], Any], None]]:
    """Return the builder of a behaviour of navground;
    agents are not pushed apart, since no other peer does that.
    """

    def build(agents: Crowd) -> tuple[Callable[[], Any], None]:
        """Return navground's step of a crowd."""
        from navground import core, sim

        world = sim.World()
        world.ignore_collisions = True
        for row in range(len(agents)):
            kinematics: Any = core.Kinematics.make_type("Omni")
            one: Any = core.Behavior.make_type(behaviour)
            kinematics.max_speed = float(agents.maximum[row])
            one.optimal_speed, one.horizon, one.safety_margin = float(agents.speed[row]), RANGE, 0.0
            if hasattr(one, "max_number_of_neighbors"):
                one.max_number_of_neighbors = NEIGHBOURS
            if behaviour == "ORCA":
                one.time_horizon, one.static_time_horizon = HORIZON, WALL_HORIZON
            one.target = core.Target.Point(agents.goal[row], 0.1)
            agent = sim.Agent(
                float(agents.radius[row]),
                one,
                kinematics,
                None,
                [sim.state_estimations.BoundedStateEstimation(RANGE)],
            )
            agent.position, agent.velocity = agents.position[row], agents.velocity[row]
            world.add_agent(agent)
        for ring in agents.pillar_rings():
            for corner, after in zip(ring, np.roll(ring, -1, axis=0), strict=True):
                world.add_wall(sim.Wall(corner, after))

        def step() -> None:
            world.update(TICK)

        return step, None

    return build


PEERS: tuple[Peer, ...] = (
    Peer("pyrvo", "RVO2", "orca", "same", _pyrvo),
    Peer(
        "jupedsim",
        "CollisionFreeSpeedModel",
        "orca",
        "other",
        _jupedsim("CollisionFreeSpeedModel"),
        JUPEDSIM_TICK,
    ),
    Peer(
        "jupedsim",
        "CollisionFreeSpeedModelV2",
        "orca",
        "other",
        _jupedsim("CollisionFreeSpeedModelV2"),
        JUPEDSIM_TICK,
    ),
    Peer(
        "jupedsim",
        "CollisionFreeSpeedModelV3",
        "orca",
        "other",
        _jupedsim("CollisionFreeSpeedModelV3"),
        JUPEDSIM_TICK,
    ),
    Peer("jupedsim", "SocialForceModel", "orca", "other", _jupedsim("SocialForceModel"), JUPEDSIM_TICK),
    Peer(
        "jupedsim",
        "GeneralizedCentrifugalForceModel",
        "orca",
        "other",
        _jupedsim("GeneralizedCentrifugalForceModel"),
        JUPEDSIM_TICK,
    ),
    Peer(
        "jupedsim",
        "AnticipationVelocityModel",
        "toi",
        "other",
        _jupedsim("AnticipationVelocityModel"),
        JUPEDSIM_TICK,
    ),
    Peer("jupedsim", "WarpDriverModel", "sampled-hrvo", "other", _jupedsim("WarpDriverModel"), JUPEDSIM_TICK),
    Peer("navground", "ORCA", "orca", "kind", _navground("ORCA")),
    Peer("navground", "HRVO", "hrvo", "kind", _navground("HRVO")),
    Peer("navground", "HL", "toi", "kind", _navground("HL")),
    Peer("navground", "SocialForce", "orca", "other", _navground("SocialForce"), most_agents=250),
)
