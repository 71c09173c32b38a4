"""Inputs that nobody should give, and somebody will: made by the hundred thousand, and run.

make fuzz                                     all of them, by seed; what was done is kept, and taken up again
PYTHONPATH=tests:tests/helpers python -m fuzz --inputs 1000 --kind tables
PYTHONPATH=tests:tests/helpers python -m fuzz --replay FILE.json

A case is plain JSON, so that one that was found can be kept (`corpus/`) and run again. For each there are two fair
ends: it is answered, or refused in our own words. Anything else is a finding: another exception, a 5xx, a dead process,
more than two seconds, an answer that breaks what answers promise, memory that grows.

making    texts, values and bytes, by chance         cases    what a case is, and how it ends
texts     predictions, evidence, suggestions         tables   scoring, reports, checks, the command line
folders   model folders that were damaged            asking   requests to every endpoint
worker    runs cases in a process of its own         runner   hands them out, watches, counts
"""
