"""Any triangles become ground: which cells can a body reach from a place where it stands,
which rectangles are they, and where does it drop?

In: triangles in space, in any order; a place where a body can stand; the body and its steps; what takes it
from one place to another. Out: cells, each with the neighbours that can be stepped to ([Smith 2002]),
rectangular sectors with the portals between them, plates of the mesh, and edges to drop over.
"""
