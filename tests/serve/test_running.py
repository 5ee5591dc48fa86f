"""The command as an owner runs it: signals, crashes, schedules, the journal and the logs."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import httpx
import pytest

from hourglass.errors import LedgerError
from hourglass.ledger import Budget
from hourglass.serve.reading import CatalogueError, read_catalogue
from hourglass.serve.server import _Reloading
from hourglass.serve.service import Service, load
from hourglass.serve.tokens import hashed, token
from tests import apart

from .support import Place, asking, process, serving, spent, write_data

pytestmark = pytest.mark.slow


def _at_one_price(place: Place, price: str = "1") -> Place:
    """Fewer questions: between two that are prepared, the service waits."""
    four = 'epsilons = ["1/100", 0.1, 0.5, 1]'
    assert four in place.text()
    place.path.write_text(place.path.read_text().replace(four, f'epsilons = ["{price}"]'))
    return place


def test_killed_in_the_middle_and_started_again(tmp_path: Path) -> None:
    """Eight people ask without a pause while the process is killed, twice.

    What was answered stays as it was, bit for bit; what was charged is never charged again.
    """
    place = Place(tmp_path, str(tmp_path / "budget.db"), epsilon=1000, allowance=1000, plain=True)
    _at_one_price(place, "1/100")
    seen: dict[str, str] = {}

    def ask(worker: int, stop: list[bool]) -> None:
        for number in range(10_000):
            if stop:
                return
            key = f"w{worker}-{number}"
            try:
                with place.client("ana") as ana:
                    reply = ana.post("/releases", json=asking(key, epsilon="1/100"))
                if reply.status_code == 200:
                    seen[key] = reply.text
            except httpx.TransportError:
                return

    for _ in range(2):
        stop: list[bool] = []
        with process(place) as server, ThreadPoolExecutor(8) as pool:
            before = len(seen)
            done = [pool.submit(ask, worker, stop) for worker in range(8)]
            for _ in range(600):  # until each has been answered about twice, and asks again
                if len(seen) >= before + 16:
                    break
                time.sleep(0.05)
            server.send_signal(signal.SIGKILL)
            stop.append(True)
            for each in done:
                each.result()
    charged = Budget(place.ledger, "main")
    assert len(seen) >= 32
    assert charged.verify().sound
    balance = charged.balance()
    with process(place), place.client("ana") as ana:
        for key, text in seen.items():
            assert ana.post("/releases", json=asking(key, epsilon="1/100")).text == text
        assert spent(place) == balance.spent.epsilon
        keys = {charge.request.partition("/")[2] for charge in charged.history()}
        assert set(seen) <= keys
        for key in keys - set(seen):  # charged, and the reply was lost: taken up at no charge
            reply = ana.post("/releases", json=asking(key, epsilon="1/100"))
            assert reply.status_code == 200
    assert spent(place) == balance.spent.epsilon == Fraction(len(keys), 100)
    assert Budget(place.ledger, "main").balance().open == 0


def test_the_catalogue_is_read_again_and_kept_when_broken(tmp_path: Path) -> None:
    place = Place(tmp_path, str(tmp_path / "budget.db"), plain=True)
    lines: list[str] = []
    with process(place) as server:

        def listen() -> None:
            assert server.stderr is not None
            for line in server.stderr:
                lines.append(line)  # at once

        def reload(text: str) -> None:
            place.path.write_text(text)
            server.send_signal(signal.SIGHUP)

        def until_kept(times: int) -> None:
            for _ in range(3000):
                if sum("kept the old catalogue" in line for line in lines) == times:
                    return
                time.sleep(0.02)
            raise AssertionError(lines)

        def until(wanted: int, name: str) -> None:
            for _ in range(1200):
                with place.client(name) as client:
                    if client.get("/budget").status_code == wanted:
                        return
                time.sleep(0.05)
            raise AssertionError((wanted, name))

        listener = threading.Thread(target=listen)
        listener.start()
        good = place.text()
        place.tokens["eve"] = token()
        eve = f'[people.eve]\nroles = ["analyst"]\ntoken = "{hashed(place.tokens["eve"])}"\n'
        until(401, "eve")
        reload(good + eve)
        until(200, "eve")
        reload(good.replace("bounds = [0, 60]", "bounds = [60, 0]"))
        until_kept(1)
        until(200, "eve")
        reload(
            good.replace("columns.minutes]", "columns.hours]").replace('"minutes", ', '"hours", ')
        )
        until_kept(2)
        until(200, "eve")
        reload(good)
        until(401, "eve")
        server.send_signal(signal.SIGTERM)
        server.wait(60)
        listener.join()
        assert server.stdout is not None
        out = server.stdout.read()
    assert server.returncode == 0
    assert re.search(r"Sign in as olga .*/login\?code=", out)
    events = [json.loads(line) for line in lines]
    kept = [each for each in events if each["event"] == "kept the old catalogue"]
    assert len(kept) == 2
    assert "the lower bound is above the upper" in kept[0]["error"]


def test_totals_are_read_anew_on_the_owners_schedule(tmp_path: Path) -> None:
    place = _at_one_price(Place(tmp_path, str(tmp_path / "budget.db"), plain=True), "0.1")
    place.path.write_text(place.path.read_text().replace('title = "Test"', 'refresh = "1s"'))
    with process(place), place.client("ana") as ana:

        def count(key: str) -> float:
            reply = ana.post("/releases", json=asking(key)).json()
            return float(reply["answer"]["count"])

        assert count("before") < 1000  # 300 rows
        write_data(tmp_path / "new.parquet", 30_000)
        os.replace(tmp_path / "new.parquet", tmp_path / "visits.parquet")
        for number in range(95):  # each costs a tenth of an epsilon, of an allowance of ten
            time.sleep(0.1 if number < 40 else 1)
            if count(f"after-{number}") > 20_000:
                break
        else:
            raise AssertionError("the totals stayed as they were")
        assert count("before") < 1000  # a stored answer stays


def _prepared(service: Service) -> bool:
    holding = service.state.holdings["clinic"]
    wanted = len(holding.menu) * len(holding.dataset.epsilons)
    return len(holding.made) == wanted and all(e._rehearsed for e in holding.made.values())


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="there is no SIGHUP on this system")
def test_questions_are_prepared_after_a_reload_that_failed(tmp_path: Path) -> None:
    """The signal interrupts the preparation, which was not taken up again."""
    place = _at_one_price(Place(tmp_path, str(tmp_path / "budget.db")))
    service = place.service()
    place.path.write_text("no catalogue")
    handler = signal.getsignal(signal.SIGHUP)
    try:
        with _Reloading(service, place.path):
            os.kill(os.getpid(), signal.SIGHUP)
            for _ in range(600):
                if _prepared(service):
                    break
                time.sleep(0.1)
            else:
                raise AssertionError("nobody prepared the questions")
    finally:
        signal.signal(signal.SIGHUP, handler)
    service.journal.close()


#: Sends a second SIGHUP while the first is handled, at each line of that in turn.
TWO_SIGNALS = """
import os, signal, sys
from pathlib import Path
from types import SimpleNamespace
from hourglass.serve.server import _Reloading

signal.alarm(60)  # ends a process that waits for ever
settings = SimpleNamespace(refresh=None)
state = SimpleNamespace(holdings={}, catalogue=SimpleNamespace(settings=settings))
reloading = _Reloading(SimpleNamespace(state=state), Path("none"))
reloading._reload = lambda why: False
lines, reached = 0, True
with reloading:
    while reached:
        lines, passed, reached = lines + 1, 0, False

        def trace(frame, event, _):
            global passed, reached
            passed += event == "line"
            if event == "line" and passed == lines:
                reached = True
                sys.settrace(None)
                signal.raise_signal(signal.SIGHUP)
            return trace

        sys.settrace(trace)
        signal.raise_signal(signal.SIGHUP)
        sys.settrace(None)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="there is no SIGHUP on this system")
def test_a_signal_that_comes_while_another_is_handled() -> None:
    done = apart.run(
        [sys.executable, "-c", TWO_SIGNALS], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_questions_are_prepared_again_after_each_refresh(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the first to ask one would wait longer, and others could tell that they were."""
    place = _at_one_price(Place(tmp_path, str(tmp_path / "budget.db"), plain=True))
    text = place.path.read_text()
    place.path.write_text(text.replace('title = "Test"', 'refresh = "1s"'))
    monkeypatch.delattr(signal, "SIGHUP")
    service = place.service()
    first = service.state
    with _Reloading(service, place.path):
        for _ in range(600):
            if service.state is not first and _prepared(service):
                break
            time.sleep(0.1)
        else:
            raise AssertionError("nobody prepared the questions")
    service.journal.close()


def test_stopped_while_it_answers(tmp_path: Path) -> None:
    """SIGTERM: requests under way are answered, no new ones are taken, the exit code is 0."""
    place = Place(tmp_path, str(tmp_path / "budget.db"))
    with process(place) as server, ThreadPoolExecutor(4) as pool:

        def ask(number: int) -> int:
            with place.client("ana") as ana:
                question = asking(f"k{number}", columns=["minutes", "cost"], by="ward")
                return ana.post("/releases", json=question).status_code

        done = [pool.submit(ask, number) for number in range(4)]
        time.sleep(0.15)
        server.send_signal(signal.SIGTERM)
        codes = []
        for each in done:
            try:
                codes.append(each.result())
            except httpx.TransportError:
                codes.append(0)  # not taken any more
        _, log = server.communicate(timeout=60)
    assert server.returncode == 0
    assert set(codes) <= {200, 0}
    events = [json.loads(line) for line in log.splitlines()]
    assert [each["why"] for each in events if each["event"] == "stopped"] == ["SIGTERM"]
    assert events[-1]["event"] == "stopped"
    assert Budget(place.ledger, "main").balance().open == 0


def test_beyond_this_machine_with_a_certificate(tmp_path: Path) -> None:
    """Every address, with TLS: the cookie is bound to the host, and plain HTTP gets nothing."""
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl to make a certificate with")
    make = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -keyout k -out c"
    subprocess.run(make.split(), cwd=tmp_path, check=True, capture_output=True)
    place = Place(tmp_path, str(tmp_path / "budget.db"), plain=True)
    text = place.text().replace("127.0.0.1", "0.0.0.0")
    place.path.write_text(text)
    with pytest.raises(CatalogueError, match="can be reached from other machines"):
        read_catalogue(place.path)
    place.path.write_text(f'{text}\n[serve.tls]\ncertificate = "c"\nkey = "k"\n')
    url = place.url.replace("http", "https")
    with process(place, url) as server:
        with httpx.Client(base_url=url, verify=False) as client:
            reply = client.post("/login", data={"token": place.tokens["ana"]})
            assert re.match("__Host-hourglass=.*; Secure", reply.headers["set-cookie"])
            page = client.get("/history")
            assert page.status_code == 200
            key = re.search(r'name="form_key" value="([0-9a-f]{64})"', page.text)
            assert key
            left = client.post("/logout", data={"form_key": key[1]})
            forget = left.headers["set-cookie"]  # which browsers heed only if it is Secure
            assert re.match("__Host-hourglass=.*Max-Age=0; Path=/; SameSite=lax; Secure", forget)
        with pytest.raises(httpx.TransportError):
            httpx.get(f"{place.url}/healthz", verify=False, timeout=5)
        server.terminate()
        out, _ = server.communicate(timeout=60)
    assert "login?code" not in out  # no link where others could read the screen of a server


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    place = Place(tmp_path, str(tmp_path / "budget.db"), plain=True)
    with serving(place):
        run = [sys.executable, "-m", "hourglass", "serve", str(place.path)]
        done = apart.run(run, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert f"127.0.0.1:{place.port} cannot be used" in done.stderr
    assert "login" not in done.stdout


def test_without_the_extra_the_error_names_it(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['uvicorn'] = None\n"
        "from hourglass.cli import main; main(['serve', 'catalogue.toml'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "pip install 'hourglass-dp[serve]'" in done.stderr


def test_a_ledger_that_goes_back_between_two_catalogues_is_refused(tmp_path: Path) -> None:
    """What was seen of a ledger is not forgotten when the catalogue is read again."""
    place = Place(tmp_path, str(tmp_path / "budget.db"), plain=True)
    service = place.service()
    shutil.copy2(place.ledger, tmp_path / "older")
    person = service.state.catalogue.people["ana"]
    asked = service.state.asked(person, "clinic", ["minutes"], "", "", False, "0.1")
    service.ask(service.state, person, asked, "charged")
    again = load(read_catalogue(place.path), service.state)
    assert again.budgets["main"] is service.state.budgets["main"]
    shutil.copy2(tmp_path / "older", place.ledger)
    with pytest.raises(LedgerError):
        load(read_catalogue(place.path), service.state)
    assert load(read_catalogue(place.path)).budgets["main"].balance().charges == 0  # anew, unseen
    service.journal.close()


def test_a_new_rate_counts_at_once(tmp_path: Path) -> None:
    place = Place(tmp_path, str(tmp_path / "budget.db"), rate=1, plain=True)
    with serving(place) as (service, _), place.client("ana") as ana:
        codes = [ana.post("/releases", json=asking(f"a{i}")).status_code for i in range(2)]
        text = place.text().replace("questions_per_minute = 1\n", "questions_per_minute = 99\n")
        place.path.write_text(text)
        service.state = load(read_catalogue(place.path), service.state)
        codes += [ana.post("/releases", json=asking(f"b{i}")).status_code for i in range(3)]
    assert codes == [200, 429, 200, 200, 200]


def test_a_proxy_declared_later_counts_at_once(tmp_path: Path) -> None:
    """Also for the header that keeps browsers to https."""
    place = Place(tmp_path, str(tmp_path / "budget.db"), plain=True)
    with serving(place) as (service, _), place.client("ana") as ana:
        assert "strict-transport-security" not in ana.get("/budget").headers
        place.path.write_text(place.text() + '[serve.proxy]\naddresses = ["127.0.0.1"]\n')
        service.state = load(read_catalogue(place.path), service.state)
        assert "strict-transport-security" in ana.get("/budget").headers
