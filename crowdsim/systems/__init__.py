"""What happens in a tick? The systems in the order in which they run.

`TICK_ORDER` is the table of contents. Everyone decides on the world as it was, then everyone moves; an arrival is recorded before it leaves.
"""

from crowdsim.systems.arrive import Arrive
from crowdsim.systems.avoid import Avoid
from crowdsim.systems.base.system import System, Tick
from crowdsim.systems.depart import Depart
from crowdsim.systems.drive import Drive
from crowdsim.systems.follow import Follow
from crowdsim.systems.gates import Gates
from crowdsim.systems.gauge import Gauge
from crowdsim.systems.give_way import GiveWay
from crowdsim.systems.go_round import GoRound
from crowdsim.systems.index import Index
from crowdsim.systems.integrate import Integrate
from crowdsim.systems.notice import Notice
from crowdsim.systems.nudge import Nudge
from crowdsim.systems.plan import Plan
from crowdsim.systems.record import Record
from crowdsim.systems.replan import Replan
from crowdsim.systems.retire import Retire
from crowdsim.systems.separate import Measure, Separate
from crowdsim.systems.slow_down import SlowDown
from crowdsim.systems.spread import Spread
from crowdsim.systems.symmetry import BreakSymmetry
from crowdsim.systems.turn import Turn
from crowdsim.systems.walk import Walk
from crowdsim.systems.watch import Watch
from crowdsim.world.registry import register

TICK_ORDER: tuple[type[System], ...] = (
    Drive,  # obstacles come, go, and have velocities
    Gates,  # areas open and close
    Depart,  # premovement times run out
    Index,  # sort agents into cells
    Notice,  # who is held up by somebody who stands
    Replan,  # who has a way and needs a new one
    Plan,  # search for paths, within the budget
    Follow,  # preferred velocities: to the next corner, or a guess
    Gauge,  # how much everybody has got on along its path
    Spread,  # in front of a region a crowd takes the width of its rim
    GoRound,  # a local way round those who stand, where that is asked for
    SlowDown,  # in a crowd, where a law of speed and density is asked for
    Nudge,  # who stands in the way steps aside, and who has come to a region moves in
    GiveWay,  # who has waited longer goes first, where that is asked for
    BreakSymmetry,  # whom a symmetry holds is turned a little
    Avoid,  # safe velocities
    Integrate,  # tentative positions
    Separate,  # overlapping bodies apart
    Walk,  # onto the mesh, clear of walls
    Measure,  # how deep bodies overlap
    Turn,  # which way everybody faces
    Arrive,  # next goal, or arrived
    Watch,  # who is stuck
    Record,  # digests, and a frame if it is time
    Retire,  # the arrived leave
)

__all__ = ["TICK_ORDER", "System", "Tick", "register"]
