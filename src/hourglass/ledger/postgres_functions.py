"""The functions through which a PostgreSQL ledger is charged.

Only the owner can write to the tables. Other roles call three functions, which run with the
owner's rights (SECURITY DEFINER) and do their own checks:

    hold(budget)        waits for the budget's lock, which is released with the transaction
    reserve(budget, request, question, description, epsilon, delta)
                        charges the budget, or returns the charge of the same request
    settle(budget, charge, answer)
                                  stores the answer of the caller's own charge, once

The functions take no number, hash, time, cost, sum or role from their caller. Their entries
contain the role that logged in (``by``) and the sum of all costs after the entry (``spent``; in a
budget with slots or a filter ``used``), which replay.py checks. Amounts are exact: p/q as text,
with NUMERIC arithmetic (postgres_sums.py).

A caller controls its own session settings. So the bodies qualify every table with its schema, fix
the search path, contain no backslash (``standard_conforming_strings``) and print no number or date
in a format that a setting could change.
"""

from __future__ import annotations

import hashlib
from typing import Final

from . import postgres_sums as sums

__all__ = ["CALLED", "FUNCTIONS", "NAMES", "digest"]

#: The functions that a role needs to make charges.
CALLED: Final = (
    "hourglass.hold(text)",
    "hourglass.reserve(text, text, text, text, text, text)",
    "hourglass.settle(text, bigint, text)",
)

_FIELD: Final = """
-- A field of an entry; NULL if the line is not JSON.
BEGIN
    RETURN _body::jsonb ->> _name;
EXCEPTION WHEN OTHERS THEN
    RETURN NULL;
END
"""

_HASH: Final = """
-- The hash of a line, as entries.py computes it.
BEGIN
    RETURN encode(
        sha256(convert_to('hourglass-ledger-1' || chr(10) || _body, 'UTF8')), 'hex');
END
"""

_PLAIN: Final = """
-- Whether a text is short, trimmed and free of control characters.
BEGIN
    RETURN _text IS NOT NULL AND char_length(_text) BETWEEN _least AND 200
        AND _text = btrim(_text)
        AND _text !~ ('[' || chr(1) || '-' || chr(31) || chr(127) || '-' || chr(159) || ']');
END
"""

_HOLD: Final = """
-- Lock a budget by its first entry. Under READ COMMITTED every later statement sees what the
-- holders before have committed.
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'a charge needs the isolation level READ COMMITTED'
            USING ERRCODE = 'HG001';
    END IF;
    IF current_setting('synchronous_commit') NOT IN ('on', 'remote_apply') THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    PERFORM FROM hourglass.entries e
        WHERE e.budget = _budget AND e.number = 0 FOR NO KEY UPDATE;
    RETURN FOUND;
END
"""

_HEAD: Final = """
-- The last entry of a budget, which this transaction now holds.
DECLARE
    _head hourglass.entries;
BEGIN
    IF hourglass.hold(_budget) IS NOT TRUE THEN
        RAISE EXCEPTION 'there is no such budget' USING ERRCODE = 'HG002';
    END IF;
    SELECT e.* INTO _head FROM hourglass.entries e
        WHERE e.budget = _budget ORDER BY e.number DESC LIMIT 1;
    IF hourglass.hash(_head.body) <> _head.hash
        OR hourglass.field(_head.body, 'budget') IS DISTINCT FROM _head.budget
        OR hourglass.field(_head.body, 'number') IS DISTINCT FROM _head.number::text
    THEN
        RAISE EXCEPTION 'the last entry of this budget is damaged' USING ERRCODE = 'HG003';
    END IF;
    RETURN _head;
END
"""

_CLOSED: Final = """
-- Whether an entry of this kind speaks of the charge.
BEGIN
    RETURN EXISTS (
        SELECT FROM hourglass.entries e
        WHERE hourglass.field(e.body, 'charge') = _charge::text AND e.budget = _budget
            AND hourglass.field(e.body, 'kind') = _kind);
END
"""

_SPENT: Final = """
-- The sum of the costs up to the last entry: as it says, or, if it was written under schema 1,
-- added up.
DECLARE
    _sums text[] := ARRAY['0/1', '0/1'];
    _said text := hourglass.field(_head.body, 'spent');
    _used text := hourglass.field(_head.body, 'used');
    _one hourglass.entries;
BEGIN
    IF _said IS NOT NULL THEN
        RETURN ARRAY[hourglass.field(_said, 'epsilon'), hourglass.field(_said, 'delta')];
    END IF;
    IF _used IS NOT NULL THEN
        RETURN ARRAY[_used];
    END IF;
    IF hourglass.field(_head.body, 'kind') IN ('init-slots', 'init-renyi') THEN
        RETURN ARRAY['0/1'];
    END IF;
    FOR _one IN
        SELECT e.* FROM hourglass.entries e
        WHERE e.budget = _head.budget AND hourglass.field(e.body, 'kind') = 'reserve'
            AND NOT hourglass.closed(e.budget, e.number, 'void')
    LOOP
        _sums := ARRAY[hourglass.plus(_sums[1], hourglass.field(_one.body, 'epsilon')),
                       hourglass.plus(_sums[2], hourglass.field(_one.body, 'delta'))];
    END LOOP;
    RETURN _sums;
END
"""

_APPEND: Final = """
-- Write the entry that comes after the head. Only the owner may call this, and the functions
-- that run as the owner.
DECLARE
    _new hourglass.entries;
BEGIN
    _new.budget := _head.budget;
    _new.number := _head.number + 1;
    _new.body := '{"budget":' || to_json(_head.budget)::text
        || ',"number":' || _new.number::text
        || ',"previous":"' || _head.hash
        || '","kind":"' || _kind
        || '","at":"' || to_char(clock_timestamp() AT TIME ZONE 'UTC',
                                 'YYYY-MM-DD"T"HH24:MI:SS.MS"+00:00"')
        || '",' || _fields
        || CASE cardinality(_spent)
            WHEN 2 THEN ',"spent":{"epsilon":"' || _spent[1] || '","delta":"' || _spent[2] || '"}'
            WHEN 1 THEN ',"used":"' || _spent[1] || '"' END
        || ',"by":' || to_json(session_user::text)::text || '}';
    IF _new.body IS NULL THEN
        RAISE EXCEPTION 'the entries of this budget are damaged' USING ERRCODE = 'HG003';
    END IF;
    _new.hash := hourglass.hash(_new.body);
    INSERT INTO hourglass.entries VALUES
        (_new.budget, _new.number, _new.body, _new.hash, _answer);
    RETURN _new;
END
"""

_RESERVE: Final = """
DECLARE
    _head hourglass.entries;
    _standing hourglass.entries;
    _terms text;
    _cost text[];
    _spent text[];
BEGIN
    IF NOT hourglass.plain(_request, 1) OR NOT hourglass.plain(_description, 0)
        OR _question IS NULL OR _question !~ '^[0-9a-f]{64}$'
        OR _epsilon IS NULL OR _epsilon !~ '^[1-9][0-9]{0,59}/[1-9][0-9]{0,59}$'
        OR _delta IS NULL OR _delta !~ '^(0|[1-9][0-9]{0,59})/[1-9][0-9]{0,59}$'
    THEN
        RAISE EXCEPTION 'an argument of reserve is out of range' USING ERRCODE = 'HG004';
    END IF;
    _epsilon := hourglass.reduced(_epsilon);
    _delta := hourglass.reduced(_delta);
    _head := hourglass.head(_budget);
    SELECT e.* INTO _standing FROM hourglass.entries e
        WHERE hourglass.field(e.body, 'request') = _request AND e.budget = _budget
            AND hourglass.field(e.body, 'kind') = 'reserve'
            AND NOT hourglass.closed(e.budget, e.number, 'void');
    IF FOUND THEN
        IF hourglass.field(_standing.body, 'question') <> _question
            OR hourglass.field(_standing.body, 'epsilon') <> _epsilon
            OR hourglass.field(_standing.body, 'delta') <> _delta
        THEN
            RAISE EXCEPTION 'the request key belongs to another question'
                USING ERRCODE = 'HG005';
        END IF;
        RETURN _standing;
    END IF;
    SELECT e.body INTO STRICT _terms FROM hourglass.entries e
        WHERE e.budget = _budget AND e.number = 0;
    _cost := hourglass.cost(_terms, _epsilon, _delta);
    _spent := hourglass.added(hourglass.spent(_head), _cost);
    IF hourglass.overruns(_spent, hourglass.capacity(_terms)) IS NOT FALSE THEN
        RAISE EXCEPTION 'the charge is more than remains' USING ERRCODE = 'HG006';
    END IF;
    IF hourglass.crowds(_spent[1], _cost[1]) OR hourglass.crowds(_spent[2], _cost[2]) THEN
        RAISE EXCEPTION 'the exact sum has too many digits' USING ERRCODE = 'HG007';
    END IF;
    RETURN hourglass.append(
        _head, 'reserve',
        '"epsilon":"' || _epsilon || '","delta":"' || _delta
            || '","request":' || to_json(_request)::text
            || ',"question":"' || _question
            || '","description":' || to_json(_description)::text,
        _spent, NULL);
END
"""

_SETTLE: Final = """
DECLARE
    _head hourglass.entries := hourglass.head(_budget);
    _body text;
    _by text;
BEGIN
    SELECT e.body INTO _body FROM hourglass.entries e
        WHERE e.budget = _budget AND e.number = _charge
            AND hourglass.field(e.body, 'kind') = 'reserve';
    IF NOT FOUND OR hourglass.closed(_budget, _charge, 'settle')
        OR hourglass.closed(_budget, _charge, 'void')
    THEN
        RAISE EXCEPTION 'the charge is not open' USING ERRCODE = 'HG008';
    END IF;
    _by := hourglass.field(_body, 'by');
    IF _by <> session_user::text
        OR _by IS NULL AND NOT pg_has_role(session_user, current_user, 'USAGE')
    THEN
        RAISE EXCEPTION 'the charge was made by another role' USING ERRCODE = 'HG009';
    END IF;
    IF _answer IS NULL OR json_typeof(_answer::json) <> 'object' THEN
        RAISE EXCEPTION 'the answer is not a JSON object' USING ERRCODE = 'HG004';
    END IF;
    RETURN hourglass.append(
        _head, 'settle',
        '"charge":' || _charge::text || ',"answer":"'
            || encode(sha256(convert_to(_answer, 'UTF8')), 'hex') || '"',
        hourglass.spent(_head), _answer);
END
"""

_PATH: Final = "SET search_path = pg_catalog, pg_temp"

#: name -> (arguments, result, properties, body), in the order in which they call each other.
_SOURCES: Final[dict[str, tuple[str, str, str, str]]] = {
    "field": ("_body text, _name text", "text", "IMMUTABLE STRICT", _FIELD),
    "hash": ("_body text", "text", "IMMUTABLE STRICT", _HASH),
    "reduced": ("_a text", "text", "IMMUTABLE STRICT", sums.REDUCED),
    "plus": ("_a text, _b text", "text", "IMMUTABLE STRICT", sums.PLUS),
    "exceeds": ("_a text, _b text", "boolean", "IMMUTABLE STRICT", sums.EXCEEDS),
    "crowds": ("_sum text, _amount text", "boolean", "IMMUTABLE STRICT", sums.CROWDS),
    "cost": ("_terms text, _epsilon text, _delta text", "text[]", "IMMUTABLE STRICT", sums.COST),
    "capacity": ("_terms text", "text[]", "IMMUTABLE STRICT", sums.CAPACITY),
    "added": ("_a text[], _b text[]", "text[]", "IMMUTABLE STRICT", sums.ADDED),
    "overruns": ("_a text[], _b text[]", "boolean", "IMMUTABLE STRICT", sums.OVERRUNS),
    "plain": ("_text text, _least integer", "boolean", "IMMUTABLE", _PLAIN),
    "hold": ("_budget text", "boolean", "SECURITY DEFINER", _HOLD),
    "head": ("_budget text", "hourglass.entries", "", _HEAD),
    "closed": ("_budget text, _charge bigint, _kind text", "boolean", "", _CLOSED),
    "spent": ("_head hourglass.entries", "text[]", "", _SPENT),
    "append": (
        "_head hourglass.entries, _kind text, _fields text, _spent text[], _answer text",
        "hourglass.entries", "", _APPEND,
    ),
    "reserve": (
        "_budget text, _request text, _question text, _description text, _epsilon text, "
        "_delta text",
        "hourglass.entries", "SECURITY DEFINER", _RESERVE,
    ),
    "settle": (
        "_budget text, _charge bigint, _answer text",
        "hourglass.entries", "SECURITY DEFINER", _SETTLE,
    ),
}  # fmt: skip

FUNCTIONS: Final = tuple(
    f"CREATE OR REPLACE FUNCTION hourglass.{name}({arguments}) RETURNS {result} LANGUAGE plpgsql "
    f"{properties} {_PATH} AS $hourglass${body}$hourglass$"
    for name, (arguments, result, properties, body) in _SOURCES.items()
)

#: Their names, for a catalogue query.
NAMES: Final = ", ".join(f"'{name}'" for name in _SOURCES)


def digest() -> str:
    """The digest that postgres_schema.STATE returns if the functions are those in this file."""
    parts = [
        name
        + ("true" if "DEFINER" in properties else "false")
        + _PATH.removeprefix("SET ").replace(" = ", "=")
        + body
        for name, (_, _, properties, body) in sorted(_SOURCES.items())
    ]
    return hashlib.sha256("".join(parts).encode()).hexdigest()
