"""Memory does not grow with the table."""

import subprocess
import sys
from pathlib import Path

import pytest

PEAK = """
import sys
from pathlib import Path
from tabsa import load
from tabsa.scoring.request import Request
from tabsa.scoring.single import score_table
source, out, model = map(Path, sys.argv[1:])
score_table(source, out, load(model, threads=1), Request(targets={"Camden": (), "Brixton": ()}, probabilities=True))
print(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc to tell a process's peak memory")
def test_ten_times_the_rows_take_the_same_memory(tmp_path, tiny_model):
    peaks = []
    for count in (3_000, 30_000):
        source = tmp_path / f"{count}.csv"
        with source.open("w") as stream:
            stream.write("id,text\n")
            for n in range(count):  # few mentions, because it is not the model that is measured
                stream.write(f"{n},{'Camden' if n % 10 == 0 else 'it'} is nice but not cheap {n % 100}\n")
        command = [sys.executable, "-c", PEAK, source, tmp_path / f"{count}.out.csv", tiny_model]
        peaks.append(int(subprocess.run(command, capture_output=True, text=True, check=True).stdout))
    assert peaks[1] < 1.1 * peaks[0], peaks
