"""Opinions where tables are: `df.tabsa.score(...)` for pandas and Polars frames, and a function for DuckDB's SQL.

import tabsa.udf.pandas      # or tabsa.udf.polars: frames have `df.tabsa.score(...)` from here on
import tabsa.udf.duckdb      # tabsa.udf.duckdb.register(connection, ...)

One file a library, which imports it; this one imports none.
"""
