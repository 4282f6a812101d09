"""What is kept? The recording of a run.

Reading order: `schema` (what a file holds), `header` (what is known before the first tick), `encode` (rows to
bytes), `storage` (bytes to a file that a kill cannot spoil), `writer` (what the simulation calls), `snapshot`
and `reader` (what all others call), then `recover`, `compare`, `cut` and `export`. `digest` gives the 64-bit
numbers by which two runs are compared.

Names are imported from their modules; importing this package loads nothing.
"""
