"""All benchmarks, one after the other: python -m benchmarks"""

from __future__ import annotations

from . import core

for module in (core,):
    print(f"\n== {module.__name__.split('.')[-1]}")
    module.main()
