"""What agents have that are vehicles."""

from __future__ import annotations

from crowdsim.saved import FARTHEST_M, MOST
from crowdsim.world.columns import FASTEST_M_S, TICK, Column

NO_DISC = 0  # In place of the entity of a disc.
VEHICLE_COLUMNS = (
    Column("driven", "float64", "m", "how far it is along its curve", within=(0.0, FARTHEST_M)),
    Column("drive_speed", "float64", "m/s", "how fast it drives along it", within=(0.0, FASTEST_M_S)),
    Column("stands_since", "int64", "tick", "since when it stands; 0 is from the beginning", within=TICK),
    Column("held_by", "int64", "", "entity that it brakes for; -1 a closed area, 0 none", within=(-1, MOST)),
    Column("first_disc", "int64", "", "entity of the first disc that covers it; 0 is none", within=(0, MOST)),
)
