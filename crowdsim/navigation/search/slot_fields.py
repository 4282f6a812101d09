"""Where the slots of all searches over corridors keep what:
the numbers that `a_star`, `polyanya` and searches round agents that stand have in common.
"""

from crowdsim.codes import PathStatus

# Whole numbers of a slot.
(
    STATUS,
    GENERATION,
    HEAP_SIZE,
    EXPANSIONS,
    GOAL,
    IS_SHARED,
    START_POLYGON,
    BEST_NODE,
    IS_SEEDED,
    NEXT_PIECE,
) = range(10)
WHOLE_FIELDS = 10
# Real numbers of a slot.
START_X, START_Y, WIDTH, BEST_TOTAL, HEURISTIC_WEIGHT, PRICE, PIECE_BOUND = range(7)
REAL_FIELDS = 7

PENDING, FOUND, FOUND_THROUGH_AGENTS = (
    int(PathStatus.PENDING),
    int(PathStatus.FOUND),
    int(PathStatus.FOUND_THROUGH_AGENTS),
)
UNREACHABLE, OUT_OF_NODES = int(PathStatus.UNREACHABLE), int(PathStatus.OUT_OF_NODES)

NONE = -1  # No node, no piece, no part of a rim.
# A search goes on until its least bound exceeds the best total by this share, so that rounding cannot hide an
# equal parent.
TIE_SLACK = 1e-12
# Portals on which a request can put a price: an agent that found one shut after the other remembers the last
# ones.
MOST_PRICED = 4
