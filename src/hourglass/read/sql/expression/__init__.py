"""Filters and expressions: a closed language over the columns of one row.

    parsing     text -> a tree (nodes), or an error that gives the position
    checking    the tree against the schema: every part has a type before anything is charged
    writing     the tree -> SQL, generated from the tree; the user's text is never pasted
    arithmetic  + - * / on doubles: total, and the same bits on every engine

Every operator is total (no row can make it fail) and gives equal results on all engines. Logic is
three-valued, as in SQL; docs/questions.md describes the language.
"""
