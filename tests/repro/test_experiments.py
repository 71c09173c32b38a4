"""The parts of every experiment: each has a configuration, and changes what it says."""

import itertools

import pytest

from tabsa.errors import ConfigError
from tabsa.models.registry import SYSTEMS
from tabsa_repro.experiments import BASE, CHAINS, EXPERIMENTS, PAPER, TAUGHT, chosen, config_of, experiment_of
from tabsa_repro.paper import FIGURE3
from tabsa_repro.seed_runs import prepared_file

TABLE1 = {part.name: config_of(part) for part in EXPERIMENTS["table1"]}


def test_every_part_has_a_name_and_a_configuration():
    for parts in EXPERIMENTS.values():
        assert len({part.name for part in parts}) == len(parts)
        for part in parts:
            full, quick = config_of(part), config_of(part, quick=True)
            assert full.data.name == quick.data.name == "sentihood"
            assert part.base == "lr" or quick.training.epochs < 10 < full.training.epochs
    of_the_paper = [name for name, system in SYSTEMS.items() if not system.open_aspects]
    assert {name: config.kind for name, config in TABLE1.items()} == {
        **{name: name for name in of_the_paper}, PAPER: BASE, TAUGHT: BASE,
    }  # fmt: skip
    recipe = TABLE1[PAPER].training
    assert (recipe.optimiser, recipe.balance, recipe.epochs) == ("ftrl-tf", "mixed", 800)


def test_a_system_is_reproduced_by_its_name():
    assert experiment_of("table1", ["lr"]) == ("table1", ("lr",))
    for name in TABLE1:
        assert experiment_of(name, []) == ("table1", (name,))
    with pytest.raises(ConfigError, match="nothing called 'delayed-entnt' to reproduce; did you mean"):
        experiment_of("delayed-entnt", [])
    with pytest.raises(ConfigError, match="'lr' is one system"):
        experiment_of("lr", ["entnet"])


def test_figure_3_changes_the_chains_and_nothing_else():
    configs = chosen("figure3", (), (), quick=False)
    assert [config.model.chains for config in configs.values()] == list(CHAINS) == list(FIGURE3)
    assert len({prepared_file(config) for config in configs.values()}) == 1
    same = TABLE1[BASE]
    assert same == next(config for config in configs.values() if config.model.chains == same.model.chains)


def test_ablations_differ_from_the_model_and_from_each_other():
    configs = chosen("ablations", (), (), quick=False)
    first, *_ = configs
    assert (first.name, first.change) == (BASE, "nothing")
    for one, other in itertools.combinations(configs.values(), 2):
        assert one != other
    paper = {"no-delay", "forward", "target-attention", "tied-keys", "free-keys", "no-normalisation"}
    assert paper <= {part.name for part in configs}
    names = [part.name for part in chosen("ablations", (), ("model.directions=forward",), quick=False)]
    assert BASE in names
    assert "forward" not in names  # it changes nothing
    with pytest.raises(ConfigError, match="forward changes nothing here: delayed-entnet has it already"):
        chosen("ablations", ("forward",), ("model.directions=forward",), quick=False)


def test_the_users_settings_go_last_and_an_unknown_part_is_refused():
    (config,) = chosen("figure3", ("chains-4",), ("model.chains=5", "training.epochs=3"), quick=True).values()
    assert (config.model.chains, config.training.epochs) == (5, 3)
    with pytest.raises(ConfigError, match="figure3 has no part 'chains-11'; did you mean 'chains-1"):
        chosen("figure3", ("chains-11",), (), quick=False)


def test_the_files_of_runs_that_read_the_same_are_one():
    settings = ((), ("data.max_length=9",), ("vectors.size=7",), ("training.rate=0.5",), ("model.chains=3",))
    names = {prepared_file(config_of(EXPERIMENTS["table1"][-1], one)) for one in settings}
    assert len(names) == 3  # the rate and the chains are not part of the data
