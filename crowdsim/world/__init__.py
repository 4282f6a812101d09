"""What exists? Agents as columns, obstacles, the ground under them, what happened to them,
and their random numbers.

In: a mesh, goals, and the agents that are there from the beginning. Out: `world.World`, which the systems of
the tick read and write. `entities` is what exists, with components, and the only importer of esper; `columns`
are the arrays with a row for each agent, `events` what is recorded of what happens, `causes` why an agent is
stuck, `random` the streams of numbers that no other agent can change, and `checks` looks at a saved state
before it is taken up. `declared` holds systems to the columns that they declare, and `registry` has the
systems of a user's own.
"""
