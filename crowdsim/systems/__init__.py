"""What happens in a tick? The systems in the order in which they run.

`TICK_ORDER` is the table of contents. All agents decide on the world as it was, then all move; an agent that
arrives is recorded before it leaves.
"""

from typing import TYPE_CHECKING

from crowdsim.front_doors import renamed_in
from crowdsim.old_names import SYSTEMS
from crowdsim.systems.agree import Agree
from crowdsim.systems.arrive import Arrive
from crowdsim.systems.avoid import Avoid
from crowdsim.systems.base.system import System, Tick
from crowdsim.systems.behave import Behave
from crowdsim.systems.change_ground import ChangeGround
from crowdsim.systems.choose import Choose
from crowdsim.systems.depart import Depart
from crowdsim.systems.detect_blocked import DetectBlocked
from crowdsim.systems.detect_stuck import DetectStuck
from crowdsim.systems.enter import Enter
from crowdsim.systems.follow import Follow
from crowdsim.systems.gauge import Gauge
from crowdsim.systems.give_way import GiveWay
from crowdsim.systems.go_round import GoRound
from crowdsim.systems.index import Index
from crowdsim.systems.integrate import Integrate
from crowdsim.systems.keep_together import KeepTogether
from crowdsim.systems.move_obstacles import MoveObstacles
from crowdsim.systems.nudge import Nudge
from crowdsim.systems.plan import Plan
from crowdsim.systems.record import Record
from crowdsim.systems.replan import Replan
from crowdsim.systems.retire import Retire
from crowdsim.systems.ride import Ride
from crowdsim.systems.route import Route
from crowdsim.systems.separate import Measure, Separate
from crowdsim.systems.slow_down import SlowDown
from crowdsim.systems.spread import Spread
from crowdsim.systems.symmetry import BreakSymmetry
from crowdsim.systems.turn import Turn
from crowdsim.systems.walk import Walk
from crowdsim.world.registry import register

TICK_ORDER: tuple[type[System], ...] = (
    MoveObstacles,  # obstacles come, go, and have velocities
    ChangeGround,  # areas open and close
    Enter,  # agents come in
    Depart,  # premovement times run out
    Choose,  # agents choose between goals, where the scenario says so
    Index,  # sort agents into cells
    DetectBlocked,  # agents that a stationary agent blocks
    Replan,  # agents that have a path and need another
    Route,  # walk to the goal, or to a connection that leads there sooner
    Plan,  # search for paths, within the budget
    Follow,  # preferred velocities: to the next corner, or a guess
    Gauge,  # how far each agent has got along its path
    Spread,  # in front of a region a crowd takes the width of its rim
    GoRound,  # a local path round stationary agents, where the scenario says so
    KeepTogether,  # members of a party wait for each other, side by side or in a line
    SlowDown,  # in a crowd, where the scenario has a law of speed and density
    Nudge,  # stationary agents step aside for walkers, and those in a region move in
    GiveWay,  # agents that have waited longer go first, where the scenario says so
    BreakSymmetry,  # agents that a symmetry blocks are turned a little
    Avoid,  # safe velocities
    Integrate,  # tentative positions
    Separate,  # overlapping agents apart
    Walk,  # onto the mesh, clear of walls
    Measure,  # how deep agents overlap
    Turn,  # in which direction each agent looks
    Arrive,  # next goal, or arrived
    Agree,  # members of a party take the same of several goals
    Ride,  # agents wait at connections, ride and come out
    Behave,  # agents go on in their machines of states
    DetectStuck,  # agents that are stuck, and why
    Record,  # digests, and a frame if it is time
    Retire,  # the arrived leave
)

__all__ = ["TICK_ORDER", "System", "Tick", "register"]

if not TYPE_CHECKING:
    __getattr__ = renamed_in(__name__, SYSTEMS)
