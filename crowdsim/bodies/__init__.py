"""What does moving do? Discs that move, touch, turn and step aside, as plain functions on arrays that know nothing of the world.

In: positions, velocities, radii, a neighbour index and walls. Out: `integrate` gives tentative positions, `separate` pushes overlapping discs apart
(`contacts`, `clearance`), `turn` the way that everybody faces. `nudge`, `places`, `priority`, `replan` and `spread` say who should step aside, stand where, go
first, look for another path, or take which place over the width of an exit.
"""
