"""How is code compiled and run? What every kernel goes through;
`kernel`, `lean_kernel` and `inlined_kernel` are the decorators.

In: Python functions on arrays and numbers. Out: machine code, the same result on every processor, kept on
disk under a hash of its sources.

Reading order: `decorator` (the one way in, and the cache), `sources` (what a kernel is made of), `compiling`,
`wrapping` and `front_end` (numba, quicker), `needed` and `ahead` (what a run needs, compiled by several
processes), `threads` (ranges of rows side by side), `simd` (sixteen numbers at once), `growing` (arrays that
grow), `cache_folder`, `disk_cache` and `stored_arrays` (what is kept on disk, and where and how), `maps` and
`held_pages` (how much of that is in memory).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crowdsim.front_doors import names_from

if TYPE_CHECKING:
    from crowdsim.kernels.decorator import inlined_kernel, kernel, lean_kernel

__all__ = ["inlined_kernel", "kernel", "lean_kernel"]

__getattr__, __dir__ = names_from(__name__, {"decorator": ("inlined_kernel", "kernel", "lean_kernel")})
