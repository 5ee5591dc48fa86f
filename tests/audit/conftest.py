"""What the tests of the audit share."""

from __future__ import annotations

import json
from typing import Any

import pytest
from typer.testing import CliRunner

from hourglass.cli import app


@pytest.fixture(scope="session")
def audited() -> dict[str, Any]:
    """All that ``hourglass audit all`` says, on one grid: test_exact.py has the others.

    It takes long, so all tests that read it are in one group, "audit all".
    """
    arguments = ["audit", "all", "--samples", "100000", "--grid", "5", "--format", "json"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    answer: dict[str, Any] = json.loads(result.stdout)
    return answer
