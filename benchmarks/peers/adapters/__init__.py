"""One file a peer, with the call that its documentation recommends for a mean.

A module has no import of its peer at the top: the runner reads what to install from it, the
worker calls it inside the peer's own environment. It holds

    TITLE, INSTALL, DISTRIBUTION, MODULE   what it is called, what pip is asked for
    CALL, RETURNS                          the call, and what comes back from it
    NOTE                                   what a reader has to know to compare
    ADJACENCY                              "add-remove", or "swap" if n is public
    REPEATS                                how runs for the accuracy differ from the call, if so
    SAMPLER                                what draws its noise, for the samples a second
    column(values) / table(keys, values)   the data in the form that the peer likes, untimed
    release(column, bounds, epsilon)       one mean: the whole call
    repeat(column, bounds, epsilon, runs)  the mean many times over, each with fresh noise; the
                                           number is a wish: it does as many as suit it at once
    FIRST                                  how many are wished for at first, if not a hundred
    sampler(size)                          a call that draws so much noise
    groups(table, keys, bounds, epsilon)   a mean for each public key, as a dict

``groups`` is absent where a peer has none. ``bounds`` is None where it is to be left out.
"""

from __future__ import annotations

from typing import Final

#: Every adapter, ours first; "plain" is the aggregate without privacy.
NAMES: Final = (
    "ours",
    "plain",
    "opendp",
    "pydp",
    "pipelinedp",
    "smartnoise",
    "tumult",
    "diffprivlib",
)
