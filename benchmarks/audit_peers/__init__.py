"""Other libraries under the empirical audit, each a function of a list of numbers.

Each wants an environment of its own, with the peer and hourglass in it:

    hourglass audit empirical --release benchmarks.audit_peers.diffprivlib_means:nanmean ...
"""
