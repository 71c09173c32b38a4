"""Run the fuzz: see the package's first lines."""

import argparse
import shutil
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import typer

from fuzz.cases import read_case
from fuzz.kinds import KINDS, shares
from fuzz.models import write_models
from fuzz.runner import MOST_GROWTH, Tally, fuzz, joined, run_cases


def main() -> None:
    """Parse, run, print."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description="Run inputs made by chance.")
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--kind", action="append", choices=list(KINDS), help="only this kind; repeatable")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--folder", type=Path, default=Path("runs/fuzz"), help="what was done and found")
    parser.add_argument("--fresh", action="store_true", help="start over")
    parser.add_argument("--replay", type=Path, nargs="+", metavar="FILE", help="run kept cases instead")
    arguments = parser.parse_args()
    folder = arguments.folder.resolve()
    if arguments.fresh:
        shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    models = write_models(folder / "models")
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as scratch:
        if arguments.replay:
            sys.exit(replay(arguments.replay, models, Path(scratch)))
        sys.exit(run(arguments, models, folder, Path(scratch)))


def run(arguments: argparse.Namespace, models: Path, folder: Path, scratch: Path) -> bool:
    """Run what is asked for; whether anything is not as it should be."""
    started = time.monotonic()
    kinds = tuple(arguments.kind or KINDS)
    tallies = {}
    for kind, inputs in shares(arguments.inputs, kinds).items():
        with ThreadPoolExecutor(arguments.jobs) as pool:
            parts = [
                pool.submit(fuzz, kind, range(job, inputs, arguments.jobs), arguments.seed, models, folder, scratch)
                for job in range(arguments.jobs)
            ]
            tallies[kind] = joined(part.result() for part in parts)
        typer.echo(line(kind, tallies[kind]))
    typer.echo(f"\n{table(tallies)}\n\n{time.monotonic() - started:.0f} s; cases that were found: {folder / 'found'}")
    return any(problems(tally) for tally in tallies.values())


def replay(paths: list[Path], models: Path, scratch: Path) -> bool:
    """Run kept cases; whether any has a finding."""
    bad = False
    for path in paths:
        kind, case = read_case(path)
        (ended,) = run_cases(kind, [case], models, scratch / kind)
        typer.echo(f"{path.name}: {ended.outcome}, {ended.seconds:.2f} s\n{ended.finding}")
        bad |= bool(ended.finding)
    return bad


def problems(tally: Tally) -> list[str]:
    """What is not as it should be."""
    found = [f"{times} x {signature}" for signature, times in tally.findings.items()]
    if tally.growth > MOST_GROWTH:
        found.append(f"memory grew by {tally.growth / 1e6:.0f} MB")
    return found


def line(kind: str, tally: Tally) -> str:
    """A row of the table."""
    answered, refused = (tally.outcomes.get(name, 0) for name in ("answered", "refused"))
    return (
        f"{kind:<10}{tally.inputs:>9,}{answered:>10,}{refused:>9,}{tally.seconds:>9.0f}"
        f"{tally.slowest:>9.2f}{tally.growth / 1e6:>11.0f}{sum(tally.findings.values()):>10,}"
    )


def table(tallies: dict[str, Tally]) -> str:
    """What came of each kind, and every finding."""
    head = f"{'kind':<10}{'inputs':>9}{'answered':>10}{'refused':>9}{'seconds':>9}{'slowest':>9}{'memory MB':>11}"
    head += f"{'findings':>10}"
    lines = [head, *(line(kind, tally) for kind, tally in tallies.items())]
    lines += [f"{kind}: {problem}" for kind, tally in tallies.items() for problem in problems(tally)]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
