"""What does moving do? Discs that move, touch, turn and step aside,
as plain functions on arrays that know nothing of the world.

In: positions, velocities, radii, a neighbour index and walls. Out: `integrate` gives tentative positions,
`separate` pushes overlapping discs apart (`contacts`, `clearance`), `turn` the directions in which agents
look. `nudge`, `places`, `priority`, `replan` and `spread` find the agents that should step aside, take a
place, go first, ask for another path, or share the width of an exit.
"""
