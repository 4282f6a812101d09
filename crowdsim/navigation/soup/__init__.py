"""Any triangles become ground: which cells can a body reach from a place where it stands,
and which rectangles are they?

In: triangles in space, in any order; a place where a body can stand; the body and its steps. Out: cells, each
with the neighbours that can be stepped to ([Smith 2002]), and rectangular sectors with the portals between
them.
"""
