"""The tables of a PostgreSQL ledger, schema version 2, and what a client checks in them."""

from __future__ import annotations

from typing import Final

from .postgres_functions import NAMES

__all__ = ["INDEXES", "STATE", "TABLES", "VERSION"]

#: The schema that this version writes and reads.
VERSION: Final = 2

TABLES: Final = (
    "CREATE SCHEMA hourglass",
    "CREATE TABLE hourglass.ledger (version integer NOT NULL)",
    "CREATE TABLE hourglass.entries (budget text NOT NULL, number bigint NOT NULL, "
    "body text NOT NULL, hash text NOT NULL, answer text, PRIMARY KEY (budget, number))",
    "CREATE FUNCTION hourglass.refuse() RETURNS trigger LANGUAGE plpgsql AS "
    "$$ BEGIN RAISE EXCEPTION 'entries are never changed or deleted'; END $$",
    "CREATE TRIGGER entries_stay BEFORE UPDATE OR DELETE ON hourglass.entries "
    "FOR EACH ROW EXECUTE FUNCTION hourglass.refuse()",
    "CREATE TRIGGER entries_whole BEFORE TRUNCATE ON hourglass.entries "
    "FOR EACH STATEMENT EXECUTE FUNCTION hourglass.refuse()",
    f"INSERT INTO hourglass.ledger VALUES ({VERSION})",
)

#: Hash indexes, because entries written under schema 1 may hold texts of any length.
INDEXES: Final = (
    "CREATE INDEX entries_request ON hourglass.entries "
    "USING hash (hourglass.field(body, 'request'))",
    "CREATE INDEX entries_charge ON hourglass.entries USING hash (hourglass.field(body, 'charge'))",
)

#: What a client checks before it trusts a ledger: version, triggers, functions, rights that
#: pass by the functions, and durability; and who it is.
STATE: Final = f"""
SELECT
    (SELECT array_agg(version) FROM hourglass.ledger),
    (SELECT count(*) FROM pg_trigger WHERE tgrelid = 'hourglass.entries'::regclass
        AND tgname IN ('entries_stay', 'entries_whole') AND tgenabled IN ('O', 'A')),
    (SELECT encode(sha256(convert_to(string_agg(
        p.proname || p.prosecdef::text || array_to_string(p.proconfig, ',') || p.prosrc,
        '' ORDER BY p.proname), 'UTF8')), 'hex')
        FROM pg_proc p WHERE p.pronamespace = n.oid AND p.proname IN ({NAMES})),
    (SELECT count(*) FROM (
            SELECT c.relowner, c.relacl, 'SELECT' FROM pg_class c WHERE c.relnamespace = n.oid
            UNION ALL SELECT n.nspowner, n.nspacl, 'USAGE'
            UNION ALL SELECT c.relowner, a.attacl, 'SELECT'
                FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
                WHERE c.relnamespace = n.oid
        ) AS found (owner, acl, harmless), aclexplode(found.acl) AS given
        WHERE given.grantee <> found.owner AND given.privilege_type <> found.harmless),
    current_setting('fsync'), session_user::text, pg_has_role(session_user, n.nspowner, 'USAGE')
FROM pg_namespace n WHERE n.nspname = 'hourglass'
"""
