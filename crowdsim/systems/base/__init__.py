"""What is a system? One step of the tick, which says what it reads and writes,
and what it has to know of long work that is done in slices.
"""
