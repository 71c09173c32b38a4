"""The part of the fuzz that every run of the tests has: its first cases, and all that were ever found."""

import json
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="needs the service: pip install 'tabsa[serve]'")
pytest.importorskip("pyarrow", reason="needs Parquet: pip install 'tabsa[tables]'")

from fuzz.cases import CORPUS, Ended, chance_of, read_case
from fuzz.kinds import KINDS, maker, shares
from fuzz.models import write_models
from fuzz.runner import MOST_GROWTH, fuzz, run_cases

INPUTS = 1000
KEPT = sorted(CORPUS.glob("*.json"))


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_models(tmp_path_factory.mktemp("fuzz-models"))


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_inputs(kind: str, models: Path, tmp_path: Path) -> None:
    inputs = shares(INPUTS, tuple(KINDS))[kind]
    tally = fuzz(kind, range(inputs), 0, models, tmp_path, tmp_path / "scratch")
    found = [json.loads(path.read_text())["about"] for path in (tmp_path / "found").glob("*.json")]
    assert not tally.findings, "\n".join([str(tally.findings), *found])
    assert tally.inputs == inputs
    assert tally.growth < MOST_GROWTH
    for outcome in ("answered", "refused"):  # neither all nonsense nor all sense
        assert tally.outcomes[outcome] > inputs / 10


@pytest.fixture(scope="module")
def replayed(models: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[Path, Ended]:
    """How every kept case ends."""
    kept = [(path, *read_case(path)) for path in KEPT]
    ended: dict[Path, Ended] = {}
    for kind in KINDS:
        own = [(path, case) for path, of, case in kept if of == kind]
        ends = run_cases(kind, [case for _, case in own], models, tmp_path_factory.mktemp("replay"))
        ended |= dict(zip([path for path, _ in own], ends, strict=True))
    return ended


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_what_was_found_once(path: Path, replayed: dict[Path, Ended]) -> None:
    ended = replayed[path]
    assert not ended.finding, ended.finding


def test_a_case_is_made_again_by_its_number() -> None:
    for kind in KINDS:
        make = maker(kind)
        one, other = (json.dumps(make(chance_of(kind, 3, 77))) for _ in range(2))
        assert one == other
        assert json.dumps(make(chance_of(kind, 3, 78))) != one


def test_whatever_goes_wrong_is_noticed(tmp_path: Path) -> None:
    ways = ("answer", "refuse", "raise", "insides", "die", "spin", "answer")
    ended = dict(zip(ways, run_cases("fuzz.bad:Bad", [{"do": way} for way in ways], tmp_path, tmp_path), strict=True))
    waited = list(run_cases("fuzz.bad:Bad", [{"do": "answer"}, {"do": "wait"}], tmp_path, tmp_path, hang_seconds=2))
    assert [way for way in ways if not ended[way].finding] == ["answer", "refuse", "answer"]
    assert ended["refuse"].outcome == "refused"
    assert ended["raise"].signature == "KeyError in bad.py:run"
    assert "shows our insides" in ended["insides"].finding
    assert "exit code 9" in ended["die"].finding
    assert "no end" in waited[1].finding
    assert ended["spin"].signature == "slow"


def test_a_run_is_taken_up_again(models: Path, tmp_path: Path) -> None:
    first = fuzz("texts", range(20), 5, models, tmp_path, tmp_path / "scratch")
    again = fuzz("texts", range(40), 5, models, tmp_path, tmp_path / "scratch")
    assert (first.inputs, again.inputs) == (20, 40)
    whole = fuzz("texts", range(40), 5, models, tmp_path / "whole", tmp_path / "scratch")
    assert whole.outcomes == again.outcomes
