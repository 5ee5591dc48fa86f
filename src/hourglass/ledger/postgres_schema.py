"""The tables of a PostgreSQL ledger, schema version 3: creation, migration, checks, grants.

Every function works inside the transaction of the caller, who owns the ledger.
"""

from __future__ import annotations

from typing import Any, Final, LiteralString

import psycopg
from psycopg.sql import SQL, Identifier

from .postgres_functions import CALLED, FUNCTIONS, NAMES

__all__ = [
    "EARLIER", "STATE", "VERSION", "Connection", "create", "grant", "hold_rights", "migrate",
    "revoke",
]  # fmt: skip

Connection = psycopg.Connection[tuple[Any, ...]]

#: The schema that this version writes and reads.
VERSION: Final = 3
#: Schemas of earlier versions, which are migrated when their owner opens them.
EARLIER: Final = ([1], [2])

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

#: Hash indexes, because entries written under schema 1 may contain texts of any length.
INDEXES: Final = (
    "CREATE INDEX IF NOT EXISTS entries_request ON hourglass.entries "
    "USING hash (hourglass.field(body, 'request'))",
    "CREATE INDEX IF NOT EXISTS entries_charge ON hourglass.entries "
    "USING hash (hourglass.field(body, 'charge'))",
)

#: What a client checks before it trusts a ledger: version, triggers, functions, rights that bypass
#: the functions, and durability; and the role of the client.
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

#: Roles that hold any right on the ledger; NULL is PUBLIC.
_HOLDERS: Final = """
SELECT DISTINCT r.rolname FROM pg_namespace n, LATERAL (
        SELECT n.nspowner, n.nspacl
        UNION ALL SELECT c.relowner, c.relacl FROM pg_class c WHERE c.relnamespace = n.oid
        UNION ALL SELECT c.relowner, a.attacl FROM pg_class c
            JOIN pg_attribute a ON a.attrelid = c.oid WHERE c.relnamespace = n.oid
        UNION ALL SELECT p.proowner, coalesce(p.proacl, acldefault('f', p.proowner))
            FROM pg_proc p WHERE p.pronamespace = n.oid
    ) AS found (owner, acl), aclexplode(found.acl) AS given
    LEFT JOIN pg_roles r ON r.oid = given.grantee
    WHERE n.nspname = 'hourglass' AND given.grantee <> found.owner
"""

#: Roles that could charge: under schema 1 those that may INSERT, under schema 2 those that may call
#: the function.
_CHARGERS: Final = {
    1: """
SELECT DISTINCT r.rolname FROM pg_class c, aclexplode(c.relacl) AS given
    JOIN pg_roles r ON r.oid = given.grantee
    WHERE c.oid = 'hourglass.entries'::regclass AND given.privilege_type = 'INSERT'
        AND given.grantee <> c.relowner
""",
    2: """
SELECT DISTINCT r.rolname FROM pg_proc p, aclexplode(p.proacl) AS given
    JOIN pg_roles r ON r.oid = given.grantee
    WHERE p.pronamespace = 'hourglass'::regnamespace AND p.proname = 'reserve'
        AND given.grantee <> p.proowner
""",
}

_EVERYTHING: Final = ("ALL TABLES IN SCHEMA", "ALL FUNCTIONS IN SCHEMA", "SCHEMA")

_OWNER: Final = (
    "SELECT r.rolname FROM pg_namespace n JOIN pg_roles r ON r.oid = n.nspowner "
    "WHERE n.nspname = 'hourglass'"
)


def create(connection: Connection) -> None:
    """Create the schema, its tables and its functions, for the owner only."""
    for statement in (*TABLES, *FUNCTIONS, *INDEXES):
        connection.execute(statement.encode())
    _close(connection)  # default privileges may have granted rights


def migrate(connection: Connection) -> None:
    """Migrate a ledger from schema 1 or 2 to schema 3; its entries are unchanged.

    Roles that could charge can charge through the functions of this version. From schema 1, every
    other right of every role but the owner is revoked.
    """
    connection.execute("LOCK TABLE hourglass.ledger, hourglass.entries IN ACCESS EXCLUSIVE MODE")
    ((version,),) = connection.execute("SELECT version FROM hourglass.ledger").fetchall()
    if version not in _CHARGERS:
        return  # another process of the owner was first
    (owner,) = connection.execute(_OWNER).fetchall()
    # A superuser must not become the owner of functions that run with their owner's rights.
    connection.execute(SQL("SET LOCAL ROLE {}").format(Identifier(owner[0])))
    chargers = [name for (name,) in connection.execute(_CHARGERS[version].encode()).fetchall()]
    for statement in (*FUNCTIONS, *INDEXES):
        connection.execute(statement.encode())
    _close(connection, ("ALL FUNCTIONS IN SCHEMA",) if version == 2 else _EVERYTHING)
    for role in chargers:
        grant(connection, role)
    connection.execute(f"UPDATE hourglass.ledger SET version = {VERSION}".encode())


def hold_rights(connection: Connection) -> None:
    """Wait for other changes of rights: two at once fail in PostgreSQL. Charges go on."""
    connection.execute("LOCK TABLE hourglass.ledger IN SHARE ROW EXCLUSIVE MODE")


def grant(connection: Connection, role: str) -> None:
    """Let a role read the ledger and charge its budgets, and nothing else."""
    to = SQL(" TO {}").format(Identifier(role))
    connection.execute(SQL("GRANT USAGE ON SCHEMA hourglass") + to)
    connection.execute(SQL("GRANT SELECT ON hourglass.ledger, hourglass.entries") + to)
    for function in CALLED:
        connection.execute(SQL("GRANT EXECUTE ON FUNCTION ") + SQL(function) + to)


def revoke(
    connection: Connection, role: str | None, rights: tuple[LiteralString, ...] = _EVERYTHING
) -> None:
    """Revoke rights on the ledger, by default all, from a role, or from PUBLIC (None)."""
    name = SQL("PUBLIC") if role is None else Identifier(role)
    for what in rights:
        connection.execute(
            SQL("REVOKE ALL ON ") + SQL(what) + SQL(" hourglass FROM {} CASCADE").format(name)
        )


def _close(connection: Connection, rights: tuple[LiteralString, ...] = _EVERYTHING) -> None:
    for (role,) in connection.execute(_HOLDERS).fetchall():
        revoke(connection, role, rights)
