"""Score a table: ask a model of every row and write its answers, at constant memory and resumable after a kill."""
