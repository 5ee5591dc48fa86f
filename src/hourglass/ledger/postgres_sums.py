"""The exact arithmetic of a PostgreSQL ledger's functions, and the rules of its budgets.

Ratios are texts p/q in lowest terms, computed with whole NUMERIC numbers. ``cost`` and ``capacity``
are replay.py, slots.py and renyi.py in the server: no caller says what a charge costs.
"""

from __future__ import annotations

from typing import Final

__all__ = ["ADDED", "CAPACITY", "COST", "CROWDS", "EXCEEDS", "OVERRUNS", "PLUS", "REDUCED"]

REDUCED: Final = """
-- A ratio p/q in lowest terms.
DECLARE
    _p numeric := split_part(_a, '/', 1)::numeric;
    _q numeric := split_part(_a, '/', 2)::numeric;
BEGIN
    RETURN div(_p, gcd(_p, _q))::text || '/' || div(_q, gcd(_p, _q))::text;
END
"""

PLUS: Final = """
-- The sum of two ratios in lowest terms, in lowest terms (Knuth 4.5.1): both divisors are at
-- most the shorter denominator, so that a long sum stays quick to add to.
DECLARE
    _p numeric := split_part(_a, '/', 1)::numeric;
    _q numeric := split_part(_a, '/', 2)::numeric;
    _r numeric := split_part(_b, '/', 1)::numeric;
    _s numeric := split_part(_b, '/', 2)::numeric;
    _shared numeric := gcd(_q, _s);
    _top numeric := _p * div(_s, _shared) + _r * div(_q, _shared);
    _common numeric := gcd(_top, _shared);
BEGIN
    RETURN div(_top, _common)::text || '/' || (div(_q, _shared) * div(_s, _common))::text;
END
"""

EXCEEDS: Final = """
-- Whether the ratio a is more than the ratio b.
BEGIN
    RETURN split_part(_a, '/', 1)::numeric * split_part(_b, '/', 2)::numeric
         > split_part(_b, '/', 1)::numeric * split_part(_a, '/', 2)::numeric;
END
"""

CROWDS: Final = """
-- Whether an amount makes the denominator of the sum too long. A decimal never does: other
-- fractions must leave it room (entries.py, DECIMAL_BITS).
BEGIN
    RETURN length(split_part(_sum, '/', 2)) > 2287
        AND mod(rpad('1', 201, '0')::numeric, split_part(_amount, '/', 2)::numeric) <> 0;
END
"""

COST: Final = """
-- What a charge costs by the rule of its budget. Raises HG010 if the rule never allows the charge.
DECLARE
    _kind text := hourglass.field(_terms, 'kind');
    _order text;
    _p numeric := split_part(_epsilon, '/', 1)::numeric;
    _q numeric := split_part(_epsilon, '/', 2)::numeric;
    _above numeric;
    _below numeric;
    _grains numeric := rpad('1', 31, '0')::numeric;
BEGIN
    IF _kind = 'init' THEN
        RETURN ARRAY[_epsilon, _delta];
    END IF;
    IF _kind IS NULL OR _kind NOT IN ('init-slots', 'init-renyi') THEN
        RAISE EXCEPTION 'the first entry of this budget is damaged' USING ERRCODE = 'HG003';
    END IF;
    IF hourglass.exceeds(_delta, '0/1') THEN
        RAISE EXCEPTION 'this budget takes no release with a delta' USING ERRCODE = 'HG010';
    END IF;
    IF _kind = 'init-slots' THEN
        IF hourglass.exceeds(_epsilon, hourglass.field(_terms, 'slot')) IS NOT FALSE THEN
            RAISE EXCEPTION 'the release is larger than a slot' USING ERRCODE = 'HG010';
        END IF;
        RETURN ARRAY['1/1'];
    END IF;
    -- The smaller of order * epsilon^2 / 2 and epsilon, rounded up to 30 decimal places.
    _order := hourglass.field(_terms, 'order');
    _above := split_part(_order, '/', 1)::numeric * _p * _p;
    _below := 2 * split_part(_order, '/', 2)::numeric * _q * _q;
    IF _above * _q > _p * _below THEN
        _above := _p;
        _below := _q;
    END IF;
    RETURN ARRAY[hourglass.reduced(
        div(_above * _grains + _below - 1, _below)::text || '/' || _grains::text)];
END
"""

CAPACITY: Final = """
-- What the costs of a budget may add up to.
BEGIN
    RETURN CASE hourglass.field(_terms, 'kind')
        WHEN 'init' THEN
            ARRAY[hourglass.field(_terms, 'epsilon'), hourglass.field(_terms, 'delta')]
        WHEN 'init-slots' THEN ARRAY[hourglass.field(_terms, 'slots') || '/1']
        WHEN 'init-renyi' THEN ARRAY[hourglass.field(_terms, 'allowance')]
    END;
END
"""

ADDED: Final = """
-- The sum of two costs by one rule.
BEGIN
    IF cardinality(_a) <> cardinality(_b) THEN
        RAISE EXCEPTION 'the entries of this budget are damaged' USING ERRCODE = 'HG003';
    END IF;
    RETURN ARRAY(SELECT hourglass.plus(_a[_i], _b[_i])
                 FROM generate_series(1, cardinality(_a)) AS _i ORDER BY _i);
END
"""

OVERRUNS: Final = """
-- Whether any part of a sum of costs is more than the capacity; NULL if that cannot be told.
BEGIN
    IF cardinality(_a) <> cardinality(_b) THEN
        RETURN NULL;
    END IF;
    RETURN (SELECT bool_or(hourglass.exceeds(_a[_i], _b[_i]) IS NOT FALSE)
            FROM generate_series(1, cardinality(_a)) AS _i);
END
"""
