"""Which curve can a vehicle drive to its goal?

What comes in: walls, where the vehicle stands and how it is directed, its rectangle and its least radius.
What goes out: a curve of arcs and lines along which that rectangle meets no wall.
"""
