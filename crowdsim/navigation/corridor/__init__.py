"""Where does an agent go next along its path? What follows from a corridor,
the row of portals that a search has found.

In: a mesh, a corridor, a position, a radius. Out: the next corner (`steer`, cached for a while by
`corner_cache`), the string through all portals (`funnel`, over `portal_vertices` and `walls_off_corridor`),
its length and time (`measure`, `trace`), a curve through them (`curve`), the position after a step (`walk`),
how much of the path is done (`progress`), and how what an agent walked while it waited is joined with the
path (`guess`). `corridors` is the store of all agents' corridors.
"""
