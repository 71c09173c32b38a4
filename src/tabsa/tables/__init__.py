"""Tables in and out: rows of CSV, JSON Lines and Parquet, read with their line numbers and appended crash-safely."""
