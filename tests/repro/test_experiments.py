import itertools

import pytest

from tabsa.errors import ConfigError
from tabsa.models.registry import SYSTEMS
from tabsa_repro.experiments import BASE, CHAINS, EXPERIMENTS, chosen, config_of
from tabsa_repro.paper import FIGURE3
from tabsa_repro.preparation import prepared_file

PARTS = [(experiment, part) for experiment, parts in EXPERIMENTS.items() for part in parts]


@pytest.mark.parametrize(("experiment", "part"), PARTS, ids=[f"{e}-{p.name}" for e, p in PARTS])
def test_every_part_has_a_configuration(experiment, part):
    full, quick = config_of(part), config_of(part, quick=True)
    assert full.data.name == quick.data.name == "sentihood"
    if part.base != "lr":
        assert quick.training.epochs < 10 < full.training.epochs


def test_names_are_told_apart():
    for parts in EXPERIMENTS.values():
        assert len({part.name for part in parts}) == len(parts)


def test_table_1_is_the_systems():
    configs = chosen("table1", (), (), quick=False)
    of_the_paper = [name for name, system in SYSTEMS.items() if not system.open_aspects]
    assert [config.kind for config in configs.values()] == [*of_the_paper, "delayed-entnet"]


def test_figure_3_changes_the_chains_and_nothing_else():
    configs = chosen("figure3", (), (), quick=False)
    assert [config.model.chains for config in configs.values()] == list(CHAINS) == list(FIGURE3)
    assert len({prepared_file(config) for config in configs.values()}) == 1
    same = config_of(EXPERIMENTS["table1"][-2])
    assert same == next(config for config in configs.values() if config.model.chains == same.model.chains)


def test_ablations_differ_from_the_model_and_from_each_other():
    configs = chosen("ablations", (), (), quick=False)
    first, *_ = configs
    assert (first.name, first.change) == (BASE, "nothing")
    for one, other in itertools.combinations(configs.values(), 2):
        assert one != other
    paper = {"no-delay", "forward", "target-attention", "tied-keys", "free-keys", "no-normalisation"}
    assert paper <= {part.name for part in configs}


def test_a_change_that_changes_nothing_is_left_out():
    names = [part.name for part in chosen("ablations", (), ("model.directions=forward",), quick=False)]
    assert BASE in names
    assert "forward" not in names
    with pytest.raises(ConfigError, match="forward changes nothing here: delayed-entnet has it already"):
        chosen("ablations", ("forward",), ("model.directions=forward",), quick=False)


def test_the_users_settings_go_last():
    (config,) = chosen("figure3", ("chains-4",), ("model.chains=5", "training.epochs=3"), quick=True).values()
    assert (config.model.chains, config.training.epochs) == (5, 3)


def test_an_unknown_part():
    with pytest.raises(ConfigError, match="figure3 has no part 'chains-11'; did you mean 'chains-1"):
        chosen("figure3", ("chains-11",), (), quick=False)


def test_what_is_read_differs_where_the_files_do():
    base = EXPERIMENTS["table1"][-1]
    names = {
        prepared_file(config_of(base, settings))
        for settings in ((), ("data.max_length=9",), ("vectors.size=7",), ("training.rate=0.5",), ("model.chains=3",))
    }
    assert len(names) == 3  # the rate and the chains are not part of the data
