"""``hourglass serve``: a web page and a JSON API for asking questions without seeing a row.

    catalogue   the owner's file as frozen values; reading checks it, with line numbers
    holdings    datasets registered: their totals are read once and kept in memory
    service     asks questions through ask/run.py: charge, noise, answer
    previews    the expected accuracy of an answer, simulated without data
    refusals    which part of a question is not offered, and what is
    people      who asks: tokens, sessions, roles; limits, connections: how much and how fast
    api, pages  the two ways in; app puts them together, server runs them
    client      ``hg.connect``: the API from Python

Everything here is imported only when it is used; the extra ``serve`` installs its dependencies.
"""
