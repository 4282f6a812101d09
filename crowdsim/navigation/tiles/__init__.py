"""Which part of the mesh is what while the ground changes? A mesh in square tiles that can be taken out,
put back and replaced.

In: ground as plates with seams, and later other ground. Out: `tiled_mesh.TiledMesh`, whose mesh is a function
of the tiles that are there, with salted `handles` that outlive changes; what stays as it was (`renumber`) and
where agents go whose place a change has taken (`relocate`).

Reading order: `numbers` (which tile is which), `cut` (one plate into tiles), `seams` and `plates` (all of
them), `bits` and `build` (one tile), `parts` (a tile of several plates), `join` (tiles into a mesh),
`tiled_mesh`, `make` (all of it at once), `rebuild` (other ground), `state` (as named arrays).
"""
