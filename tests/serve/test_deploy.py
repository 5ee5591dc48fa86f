"""The files under deploy/ say what the command understands; what can be run of them here is run."""

from __future__ import annotations

import ipaddress
import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hourglass.cli import main
from hourglass.serve.reading import read_text

from .support import Place

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "deploy" / "Dockerfile").read_text().replace("\\\n", " ")
COMPOSE = (ROOT / "deploy" / "compose.yaml").read_text()
UNIT = (ROOT / "deploy" / "hourglass.service").read_text()


def steps(kind: str) -> list[str]:
    return re.findall(rf"^{kind} (.*)$", DOCKERFILE, re.MULTILINE)


def listed(text: str) -> list[str]:
    """A list in the form that a Dockerfile has it in."""
    found: list[str] = json.loads(text)
    return found


def understood(command: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """What the command says; how it is called must not be what is wrong with it."""
    assert command[0] == "hourglass"
    with pytest.raises(SystemExit) as stopped:
        main(command[1:])
    said = "".join(capsys.readouterr())
    assert stopped.value.code in (0, 2)
    assert "Usage" not in said
    return said


def test_every_file_serves_a_catalogue_as_the_command_does(
    capsys: pytest.CaptureFixture[str],
) -> None:
    container = listed(steps("ENTRYPOINT")[0]) + listed(steps("CMD")[0])
    (unit,) = re.findall(r"^ExecStart=/opt/hourglass/bin/(.*)$", UNIT, re.MULTILINE)
    for command in (container, shlex.split(unit)):
        assert "catalogue '/srv/hourglass/catalogue.toml' cannot be read" in understood(
            command, capsys
        )


def test_the_image_has_what_it_copies_and_installs() -> None:
    import tomllib

    for step in steps("COPY"):
        *sources, target = step.split()
        assert target.startswith("/src/")
        for each in sources:
            assert (ROOT / each).exists(), each
    extras = re.findall(r"/src\[([a-z,]+)\]", DOCKERFILE)[0].split(",")
    known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(extras) <= set(known["optional-dependencies"])
    assert known["readme"] in " ".join(steps("COPY"))
    assert f"--uid {re.findall(r'belongs to user ([0-9]+)', COMPOSE)[0]} " in steps("RUN")[0]


@pytest.mark.slow
def test_the_health_check_asks_the_service(running: Place) -> None:
    (command,) = re.findall(r"HEALTHCHECK .*CMD (\[.*\])", DOCKERFILE)
    python, option, code = listed(command)
    assert (python, option) == ("python", "-c")
    assert ":8420/" in code
    up = code.replace(":8420/", f":{running.port}/")
    assert subprocess.run([sys.executable, "-c", up], check=False).returncode == 0
    down = code.replace(":8420/", ":9/")
    gone = subprocess.run([sys.executable, "-c", down], check=False, capture_output=True)
    assert gone.returncode != 0


@pytest.mark.slow
def test_compose_tells_the_catalogue_and_the_command_that_it_needs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    monkeypatch.setenv("LEDGER_PASSWORD", "secret")
    services: dict[str, Any] = yaml.safe_load(COMPOSE)["services"]
    inside = yaml.safe_load(COMPOSE)["networks"]["inside"]
    comments = "\n".join(re.findall(r"^#   (.*)$", COMPOSE, re.MULTILINE))
    # What the catalogue needs, put into the example's.
    told = comments[comments.index("[serve]") :]
    text = (ROOT / "examples" / "catalogue.toml").read_text()
    body = text[text.index("[datasets.visits]") :]
    budget = told + "\nepsilon = 5\n"
    found = read_text(f"{budget}{body}", ROOT / "examples" / "catalogue.toml")
    assert found.settings.proxy is not None
    (address,) = found.settings.proxy.addresses
    assert services["proxy"]["networks"]["inside"]["ipv4_address"] == address
    (subnet,) = (each["subnet"] for each in inside["ipam"]["config"])
    assert ipaddress.ip_address(address) in ipaddress.ip_network(subnet)
    assert inside["internal"] is True
    assert f"gateway:{found.settings.port}" in services["proxy"]["command"]
    assert f"--from {found.settings.url} " in services["proxy"]["command"]
    assert [name for name, each in services.items() if "ports" in each] == ["proxy"]
    # Who keeps the ledger is who the catalogue and the command name.
    kept = services["ledger"]["environment"]
    (entry,) = found.budgets.values()
    place = f"postgresql://{kept['POSTGRES_USER']}:secret@ledger/{kept['POSTGRES_DB']}"
    assert entry.ledger == place
    joined = comments.replace("\\\n", " ")
    (command,) = re.findall(r"run --rm gateway (budget init .*)", joined)
    assert '"postgresql://gateway:$LEDGER_PASSWORD@ledger/ledger"' in command
    local = re.sub(r'"postgresql:.*"', str(tmp_path / "l.db"), command)
    assert f"Created budget '{entry.name}'" in understood(
        ["hourglass", *shlex.split(local)], capsys
    )


@pytest.mark.slow
@pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="systemd-analyze: apt install systemd"
)
def test_systemd_understands_the_unit(tmp_path: Path) -> None:
    unit = tmp_path / "hourglass.service"
    unit.write_text(UNIT.replace("/opt/hourglass/bin/hourglass", sys.executable))
    verified = subprocess.run(
        ["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, check=False
    )
    about = [line for line in verified.stderr.splitlines() if "hourglass.service" in line]
    assert (verified.returncode, about) == (0, [])
    unit.write_text(unit.read_text().replace("NoNewPrivileges=yes", "NoNewPrivilegs=yes"))
    broken = subprocess.run(
        ["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, check=False
    )
    assert "NoNewPrivilegs" in broken.stderr
