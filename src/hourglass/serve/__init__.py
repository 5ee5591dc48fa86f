"""``hourglass serve``: a page and a JSON API through which many people ask, and nobody sees a row.

    catalogue   the owner's file as frozen values; reading checks it, with line numbers
    holdings    datasets registered: their totals are read once and kept in memory
    questions   from what somebody asks to the spine of ask/: charge, noise, answer
    previews    what an answer will be worth, simulated without data
    people      who asks: tokens, sessions, roles; limits: how much and how fast
    api, pages  the two ways in; app puts them together, server runs them
    client      ``hg.connect``: the API from Python

Everything here is imported only when it is used: the extra ``serve`` brings what it needs.
"""
