"""The examples at the end of each command's help."""

from __future__ import annotations

from typing import Final

__all__ = ["EXAMPLES"]

#: One or two for each command, by its name.
EXAMPLES: Final = {
    "mean": [
        "hourglass mean flights.parquet dep_delay --bounds -60 300 --epsilon 1",
        "hourglass mean flights.csv dep_delay --bounds -60 300 --epsilon 1 "
        "\\\n     --by origin --keys EWR,JFK,LGA --plot delays.png",
    ],
    "sum": [
        "hourglass sum sales.parquet amount --bounds 0 500 --epsilon 1",
        "hourglass sum sales.parquet amount --bounds 0 500 --epsilon 1 \\\n"
        "     --person customer --rows 3",
    ],
    "count": [
        "hourglass count visits.csv --epsilon 1",
        "hourglass count visits.csv --epsilon 1 --by ward --keys A,B --person patient",
    ],
    "bounds": [
        "hourglass bounds flights.parquet dep_delay --epsilon 0.5",
        "hourglass bounds clinic.duckdb age --table visits --epsilon 0.5 "
        "\\\n     --format json --output bounds.json",
    ],
    "plan": [
        "hourglass plan --records 10000 --bounds 0 100 --epsilon 1",
        "hourglass plan --records 10000 --bounds 0 100 --error 0.5",
    ],
    "audit": [
        "hourglass audit exact --epsilon 1",
        "hourglass audit all --samples 100000 --format json",
    ],
    "init": [
        "hourglass budget init team --ledger ledger.db --epsilon 10",
        "HOURGLASS_LEDGER=ledger.db hourglass budget init nightly --epsilon 1",
    ],
    "show": [
        "hourglass budget show team --ledger ledger.db",
        "hourglass budget show team --ledger ledger.db --format json",
    ],
    "history": [
        "hourglass budget history team --ledger ledger.db",
        "hourglass budget history team --ledger ledger.db --format json",
    ],
    "verify": [
        "hourglass budget verify --ledger ledger.db",
        "hourglass budget verify --ledger postgresql://owner@host/budgets",
    ],
    "run": [
        "hourglass serve catalogue.toml",
        "hourglass serve catalogue.toml --link analyst",
    ],
    "new": [
        "hourglass serve new",
        "hourglass serve new /etc/hourglass/catalogue.toml",
    ],
    "token": [
        "hourglass serve token",
    ],
    "check": [
        "hourglass serve check catalogue.toml",
        "hourglass serve check /etc/hourglass/catalogue.toml",
    ],
    "export": [
        "hourglass budget export team --ledger ledger.db --output team.json",
        "hourglass budget export team --ledger postgresql://owner@host/budgets",
    ],
    "grant": [
        "hourglass budget grant analyst --ledger postgresql://owner@host/budgets",
        "hourglass budget grant reports --ledger postgresql://owner@host/budgets",
    ],
    "revoke": [
        "hourglass budget revoke analyst --ledger postgresql://owner@host/budgets",
        "hourglass budget revoke reports --ledger postgresql://owner@host/budgets",
    ],
    "paper": [
        "hourglass paper e1 e2 --out paper",
        "hourglass paper --quick --out paper",
    ],
}
