"""Limits that are checked before memory is taken, so that no file can bring the machine down.

They lie far above what a crowd simulation needs; a file that meets one is refused with a sentence that names
the number and the limit.
"""

from __future__ import annotations

# A city plan as WKT is some 10 MB. Everything in a file is held in memory several times over.
MAX_FILE_BYTES = 32 * 2**20
# Levels of nesting; the deepest sensible scenario has 9. PyYAML's own loader dies in C beyond some 20,000,
# the GEOS reader at about 100,000.
MAX_DEPTH = 32
# Values in a scenario, those reached through aliases counted each time: 100,000 listed agents have a million;
# half a GB while reading.
MAX_NODES = 1_200_000
MAX_KEY_LENGTH = 200  # Characters of a key or a name. A longer one is a forgotten quote.
MAX_NUMBER_LENGTH = 40  # Characters of a number: 17 digits already say all that a float can hold.
MAX_PROBLEMS = 100  # Problems that are reported; nobody reads on after more.
# Problems that are put into words, so that the first of the file are among them; more are only counted.
MAX_COLLECTED = 300
MAX_COMPARED = 500  # Known names that a misspelt one is compared with.
MAX_OVERRIDES = 1_000  # --set options of one command.

MAX_AGENTS = 2_000_000  # Agents of a scenario: some 1.7 kB each while running (docs/guides/scale.md).
MAX_GROUPS = 10_000
MAX_SCHEDULE = 100_000  # Lines of a timetable of arrivals, and of a table of origins and destinations.
MAX_DOORS = 100  # By which agents of one group come in.
MAX_ITINERARIES = 10_000  # That the agents of one group draw from.
MAX_MACHINES = 1_000  # Machines of states, and as many with parameters of their own.
MAX_QUEUES = 10_000
MAX_PARTY = 100  # Agents that keep together: each looks at all others of its party.
MAX_CHOICES = 64  # Goals between which one agent chooses: each has lengths of its own all over the ground.
MAX_CONNECTIONS = 1_000
MAX_PORTALS = 32  # Of jumps, at once: routes look at each.
MAX_ON_WAYPATHS = 64  # Waypoints of all waypaths: walks between all pairs of them are measured.
MAX_STOPS = 200  # Of one lift.
MAX_STATES = 1_000  # States of one machine, with those of the machines that it is made of.
MAX_TRANSITIONS = 100  # Out of one state.
MAX_CONDITIONS = 20  # That one condition is made of.
MAX_PARAMETERS = 100  # Of one machine.
MAX_PLACES = 1_000  # Of one patrol.
MAX_LEVELS = 4  # Machines in machines.
# Named goals and points that stand inline; every agent of a large antipodal circle has one of its own.
MAX_GOALS = 200_000
MAX_VISITS = 1_000  # Goals in one agent's sequence.
MAX_VERTICES = 1_000_000  # Vertices of all polygons of a scenario.
# Characters of well-known text, GeoJSON and grid maps, files that are named twice counted once.
MAX_GEOMETRY_CHARACTERS = 2 * MAX_FILE_BYTES
MAX_FACES = 300_000  # Triangles of a mesh in space; some 3 ms each where they overlap a lot.
MAX_TRIANGLES = 5_000_000  # Of a soup; some 0.3 kB each while it is filled.
MAX_PARTS = 16  # Of a soup that come and go; ground is filled before the run with all of them, and with none.
MAX_CELLS = 50_000_000  # Of the ground of a soup: 1 GB while it is filled.
MAX_SURFACES = 254  # Kinds of ground of a soup: a byte for each cell says which.
MAX_FLOORS = 1_000  # Storeys, and as many connections.
MAX_CORNERS = 1_000  # Corners of one circle.
MAX_TICKS = 100_000_000  # Eleven days at 0.01 s.
MAX_RECORDING_BYTES = 2**40  # One tebibyte of rows before compression.
MAX_COORDINATE_M = 1e8  # Twice round the earth. The snapping grid of 2**-20 m is exact to 8e9 m.
MAX_AREAS = 1000  # that can be opened and closed: each change looks at all of them
MAX_EVENTS = 10_000
MAX_TILE = 2**31  # Column or row of a tile, to either side.
MAX_OBSTACLES = 1000  # that move: each is looked at in every tick
MAX_WAYPOINTS = 10_000  # of one obstacle
MAX_DISCS = 200  # that cover one obstacle
