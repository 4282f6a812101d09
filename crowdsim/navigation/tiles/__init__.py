"""Which part of the mesh is what while the ground changes? A mesh in square tiles that can be taken out,
put back and replaced.

In: ground, and later other ground. Out: `tiled_mesh.TiledMesh`, whose mesh is a function of the tiles that
are there, with salted `handles` that outlive changes; what stays as it was (`renumber`) and where agents go
whose place a change has taken (`relocate`).

Reading order: `cut` (ground into tiles), `build` (one tile), `join` (tiles into a mesh), `tiled_mesh`,
`rebuild` (other ground), `state` (as named arrays).
"""
