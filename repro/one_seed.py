"""One seed of every system of Table 1, as users get it: trained, written as a model folder, scored by `tabsa evaluate`.

tabsa reproduce table1 --prepare ready                  # where the data is
python repro/one_seed.py train ready trained            # where the GPU is; `lr` is fitted by the next step
python repro/one_seed.py evaluate trained folders       # where the data is: folders, and results/one-seed.json
"""

import argparse
import dataclasses
import json
import subprocess
import sys
import time
from pathlib import Path

from safetensors.torch import load_file, save_file

from tabsa.training.fit import choose_device, fit, train_seeds
from tabsa.training.loop import TrainingProgress
from tabsa.training.run_config import RunConfig
from tabsa.training.run_folder import Run
from tabsa.training.word_data import Prepared, prepare
from tabsa.training.word_training import write_result
from tabsa_repro.experiments import EXPERIMENTS, config_of
from tabsa_repro.prepared_file import read_prepared
from tabsa_repro.records import commit
from tabsa_repro.seed_runs import prepared_file

SEED = 1
RESULTS = Path(__file__).parent / "results" / "one-seed.json"


def configs() -> dict[str, RunConfig]:
    """The configuration of each row of Table 1."""
    return {variant.name: config_of(variant) for variant in EXPERIMENTS["table1"]}


def train(ready: Path, out: Path) -> None:
    """Train one seed of each neural system, and keep its best weights."""
    out.mkdir(parents=True, exist_ok=True)
    device = choose_device("auto")
    for name, config in configs().items():
        if not config.system.neural:
            continue
        started = time.perf_counter()
        trainer = train_seeds(
            config, read_prepared(ready / prepared_file(config), Prepared), (SEED,), Run(device=device)
        )
        facts = {
            "progress": json.dumps(dataclasses.asdict(trainer.progress)),
            "commit": commit() or "",
            "device": device,
            "seconds": f"{time.perf_counter() - started:.1f}",
        }
        weights = {key: tensor.contiguous().cpu() for key, tensor in trainer.best.items()}
        save_file(weights, out / f"{name}.safetensors", facts)
        print(name, facts["seconds"], trainer.progress.best, flush=True)


def evaluate(trained: Path, folders: Path, data_dir: Path | None) -> None:
    """Write the model folders, have the command score them, and keep what it says."""
    from safetensors import safe_open

    rows = []
    for name, config in configs().items():
        path = folders / name
        facts: dict[str, str] = {"commit": commit() or "", "device": "cpu"}
        if not config.system.neural:
            fit(config, path, data_dir=data_dir)
        else:
            file = trained / f"{name}.safetensors"
            with safe_open(file, "pt") as stream:
                facts = dict(stream.metadata())
            progress = TrainingProgress(**json.loads(facts.pop("progress")))
            prepared, kept = prepare(config, data_dir)
            write_result(path, config, prepared, kept, (SEED,), progress, load_file(file))
        command = [
            "tabsa",
            "evaluate",
            str(path),
            "--data",
            "sentihood",
            "--split",
            "test",
            "--bootstrap",
            "0",
            "--json",
        ]
        more = ["--data-dir", str(data_dir)] if data_dir else []
        report = json.loads(
            subprocess.run([sys.executable, "-m", *command, *more], capture_output=True, check=True).stdout
        )
        command[2] = name
        rows.append(
            {
                "system": name,
                "seed": SEED,
                **facts,
                "command": " ".join(command),
                "sun": report["sun"],
                "ma": report["ma"],
            }
        )
        print(
            name,
            {family: {k: round(100 * v, 1) for k, v in report[family].items()} for family in ("sun", "ma")},
            flush=True,
        )
    RESULTS.write_text(json.dumps(rows, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=["train", "evaluate"])
    parser.add_argument("source", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--data-dir", type=Path)
    arguments = parser.parse_args()
    if arguments.step == "train":
        train(arguments.source, arguments.out)
    else:
        evaluate(arguments.source, arguments.out, arguments.data_dir)
