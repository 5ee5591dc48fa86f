"""Counters of requests for the operator, in the text format of Prometheus; nothing about data."""

from __future__ import annotations

import threading
import time
from collections import Counter

__all__ = ["Metrics"]


class Metrics:
    """What was served and refused since the start."""

    def __init__(self) -> None:
        """Nothing yet."""
        self._lock = threading.Lock()
        self._served: Counter[tuple[str, int]] = Counter()
        self._refused: Counter[str] = Counter()
        self._started = time.time()

    def served(self, route: str, status: int) -> None:
        """Count a reply, by the pattern of its address."""
        with self._lock:
            self._served[route, status] += 1

    def refused(self, code: str) -> None:
        """Count a failure, by its code."""
        with self._lock:
            self._refused[code] += 1

    def text(self, sessions: int, datasets: int) -> str:
        """All counters."""
        with self._lock:
            served, refused = sorted(self._served.items()), sorted(self._refused.items())
        lines = [
            "# TYPE hourglass_requests_total counter",
            *(
                f'hourglass_requests_total{{route="{route}",status="{status}"}} {count}'
                for (route, status), count in served
            ),
            "# TYPE hourglass_refused_total counter",
            *(f'hourglass_refused_total{{code="{code}"}} {count}' for code, count in refused),
            "# TYPE hourglass_sessions gauge",
            f"hourglass_sessions {sessions}",
            "# TYPE hourglass_datasets gauge",
            f"hourglass_datasets {datasets}",
            "# TYPE hourglass_start_time_seconds gauge",
            f"hourglass_start_time_seconds {self._started:.0f}",
        ]
        return "\n".join(lines) + "\n"
