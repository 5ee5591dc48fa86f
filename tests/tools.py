"""How an attacker looks at the product: the command, the answer, everything that is shown."""

from __future__ import annotations

import io
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

from hourglass.cli import main
from hourglass.noise.bits import Bits


@dataclass(frozen=True)
class Told:
    """All that the command told."""

    code: int
    out: str
    err: str


def command(*arguments: object) -> Told:
    """``hourglass`` with these arguments, in this process."""
    out, err = io.StringIO(), io.StringIO()
    before, sys.argv = sys.argv, ["hourglass", *map(str, arguments)]
    code: Any = 0
    try:
        with redirect_stdout(out), redirect_stderr(err):
            main()
    except SystemExit as ended:
        code = ended.code or 0
    finally:
        sys.argv = before
    return Told(int(code), out.getvalue(), err.getvalue())


@contextmanager
def frozen(bits: Bits) -> Iterator[None]:
    """The command ``mean`` with the noise of these bits."""
    module: Any = import_module("hourglass.cli.mean")
    real = module.charged
    module.charged = partial(real, bits=bits)
    try:
        yield
    finally:
        module.charged = real


def everything(error: BaseException) -> str:
    """All that a person could be shown of an error, its causes and contexts included."""
    shown = "".join(traceback.format_exception(error))
    seen: BaseException | None = error
    while seen is not None:
        shown += repr(seen) + str(seen)
        seen = seen.__cause__ or seen.__context__
    return shown
