"""The API, described as OpenAPI 3.1."""

from __future__ import annotations

from typing import Any, Final

from .. import __version__
from .failures import FAILURES

__all__ = ["document"]

_TEXT: Final = {"type": "string"}
_KEY: Final = {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_.:-]{0,99}$"}
_QUESTION: Final = {
    "type": "object",
    "additionalProperties": False,
    "required": ["dataset", "epsilon", "request"],
    "oneOf": [{"required": ["columns"]}, {"required": ["column"]}],
    "properties": {
        "dataset": _TEXT,
        "columns": {"type": "array", "items": _TEXT, "minItems": 1},
        "column": {**_TEXT, "description": "in place of columns, if it is one"},
        "by": {
            **_TEXT,
            "description": "a grouping of the dataset; empty for all records. One with a delta has "
            "secret names: it costs that delta too, and shows the groups that are large enough",
        },
        "filter": {**_TEXT, "description": "a filter of the dataset, by its name; or empty"},
        "spread": {"type": "boolean", "default": False},
        "epsilon": {**_TEXT, "description": "one of the dataset's prices, such as 0.1"},
        "request": {
            **_KEY,
            "description": "your key for this question: sent again, it returns the stored answer "
            "at no charge",
        },
    },
}
_PARAMETERS: Final = {
    "dataset": (True, "the dataset"),
    "columns": (True, "a column; can be repeated. column is the same"),
    "by": (False, "a grouping of the dataset"),
    "filter": (False, "a filter of the dataset, by its name"),
    "spread": (False, "true for the standard deviation as well"),
    "epsilon": (True, "one of the dataset's prices"),
    "records": (False, "about how many records there are; persons, if they are the unit"),
    "mean": (False, "where the mean of the first column may lie"),
}


def document(title: str) -> dict[str, Any]:
    """The whole document."""
    return {
        "openapi": "3.1.0",
        "info": {"title": title, "version": __version__},
        "security": [{"token": []}],
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {"Question": _QUESTION, "Error": _error()},
        },
        "paths": _paths(),
    }


def _paths() -> dict[str, Any]:
    plan = [
        {"name": name, "in": "query", "required": needed, "description": words, "schema": _TEXT}
        for name, (needed, words) in _PARAMETERS.items()
    ]
    return {
        "/datasets": {"get": _operation("What may be asked.")},
        "/plan": {
            "get": _operation(
                "What a question costs and is worth; no data is touched. Where names of groups are "
                "secret, threshold is the noisy count from which on a group is shown, and "
                "shown_with_probability what a group of the assumed size can expect.",
                plan,
            )
        },
        "/budget": {"get": _operation("What you may still spend.")},
        "/releases": {
            "post": {
                **_operation("Ask: charged once per request key, answered the same ever after."),
                "requestBody": {
                    "required": True,
                    "content": {
                        "application/json": {"schema": {"$ref": "#/components/schemas/Question"}}
                    },
                },
            }
        },
        "/releases/{key}": {"get": _operation("One of your answers.", [_place("key")])},
        "/releases/{person}/{key}": {
            "get": _operation(
                "Anybody's answer, for readers and owners.", [_place("person"), _place("key")]
            )
        },
        "/healthz": {"get": {**_operation("Whether the service runs."), "security": []}},
        "/metrics": {"get": _operation("Counters in the text format of Prometheus, for owners.")},
    }


def _place(name: str) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": _KEY}


def _operation(summary: str, parameters: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    error = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    return {
        "summary": summary,
        "parameters": parameters or [],
        "responses": {
            "200": {"description": "Done."},
            "default": {"description": "Refused; the code says why.", "content": error},
        },
    }


def _error() -> dict[str, Any]:
    code = {"type": "string", "enum": sorted(FAILURES)}
    inner = {"type": "object", "required": ["code", "message"]}
    facts = {
        "argument": {**_TEXT, "description": "the field that is refused"},
        "offered": {"type": "array", "description": "what it may be"},
    }
    return {
        "type": "object",
        "required": ["error"],
        "properties": {"error": {**inner, "properties": {"code": code, "message": _TEXT} | facts}},
    }
