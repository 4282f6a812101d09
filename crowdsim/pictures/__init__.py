"""What does it look like? Pictures of plans and runs, for where people would rather look than read;
needs the extra `plot` (matplotlib).
"""
