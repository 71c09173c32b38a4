import dataclasses
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabsa.config import build, option, override, read_toml, to_toml
from tabsa.errors import ConfigError
from tabsa.models.registry import SYSTEMS
from tabsa.training.run_config import (
    AugmentationConfig,
    DataConfig,
    DistillationConfig,
    RunConfig,
    TrainingConfig,
    VectorsConfig,
    read_config,
    run_config,
)
from tabsa_repro.cross_encoding import CROSS_ENCODER

SECTIONS = (DataConfig, VectorsConfig, AugmentationConfig, TrainingConfig, DistillationConfig)

REPOSITORY = Path(__file__).parents[1]
SHIPPED = sorted(
    {*(REPOSITORY / "repro").rglob("*.toml")}
    - {REPOSITORY / "repro" / name for name in ("reader/sentihood-contextual.toml", "judge/pool.toml")}
)  # those two are of repro's own kinds


@dataclass(frozen=True)
class Soup:
    """One option of each type."""

    name: str = option("broth", "what it is called")
    salt: float = option(0.5, "grams", low=0, high=10)
    bowls: int = option(1, "how many", low=1)
    hot: bool = option(True, "whether it is")
    size: Literal["small", "large"] = option("small", "of a bowl")
    herbs: tuple[str, ...] = option((), "what floats in it")
    guest: str | None = option(None, "whom it is for")


@dataclass(frozen=True)
class Meal:
    """A section in a configuration."""

    guests: int = option(2, "who comes", low=1)
    soup: Soup = Soup()


def error(values: dict[str, object], cls: type = Soup) -> str:
    with pytest.raises(ConfigError) as caught:
        build(cls, values)
    message = str(caught.value)
    assert "\n" not in message
    return message


# ---- build


def test_values_become_what_their_options_are() -> None:
    soup = build(Soup, {"salt": 3, "herbs": ["dill"], "guest": "Ann"})
    assert soup == Soup(salt=3.0, herbs=("dill",), guest="Ann")
    assert type(soup.salt) is float


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"salty": 1},
            "unknown key 'salty'; did you mean 'salt'? expected one of name, salt, bowls, hot, size, herbs, guest",
        ),
        ({"xyzzy": 1}, "unknown key 'xyzzy'; expected one of name, salt, bowls, hot, size, herbs, guest"),
        ({"salt": "much"}, "'salt' is 'much'; expected a finite number"),
        ({"salt": -0.1}, "'salt' is -0.1; expected at least 0 and at most 10"),
        ({"salt": float("nan")}, "'salt' is nan; expected a finite number"),
        ({"bowls": 2.0}, "'bowls' is 2.0; expected a whole number"),
        ({"bowls": 0}, "'bowls' is 0; expected at least 1"),
        ({"hot": 1}, "'hot' is 1; expected true or false"),
        ({"size": "larg"}, "'size' is 'larg'; did you mean 'large'? expected one of small, large"),
        ({"herbs": "dill"}, "'herbs' is 'dill'; expected a list"),
        ({"herbs": ["dill", 3]}, "'herbs' is 3; expected a text"),
    ],
)
def test_what_is_wrong_is_named(values: dict[str, object], message: str) -> None:
    assert error(values) == message


def test_sections() -> None:
    assert build(Meal, {"soup": {"salt": 1.0}}) == Meal(soup=Soup(salt=1.0))
    assert error({"soup": 3}, Meal) == "'soup' is a section: expected [soup], got 3"
    assert error({"soup": {"sallt": 3}}, Meal).startswith("unknown key 'soup.sallt'; did you mean 'salt'?")
    assert error({"soup": {"bowls": -3}}, Meal) == "'soup.bowls' is -3; expected at least 1"


# ---- TOML and settings


def test_bad_toml(tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    for content, message in (
        (b"[soup\n", "bad.toml is not valid TOML: "),
        (b"a = '\xff'", "bad.toml is not UTF-8 text"),
    ):
        path.write_bytes(content)
        with pytest.raises(ConfigError, match=message):
            read_toml(path)
    for missing in (tmp_path, tmp_path / "none.toml"):
        with pytest.raises(ConfigError, match="cannot read"):
            read_toml(missing)


@pytest.mark.parametrize(
    ("setting", "values"),
    [
        ("guests=3", {"guests": 3}),
        ("soup.salt = 0.25", {"soup": {"salt": 0.25, "name": "broth"}}),
        ("soup.name=leek and potato", {"soup": {"name": "leek and potato"}}),
        ("soup.name='a=b'", {"soup": {"name": "a=b"}}),
        ('soup.herbs=["dill", "sage"]', {"soup": {"herbs": ["dill", "sage"], "name": "broth"}}),
        ("drink.name=tea", {"drink": {"name": "tea"}, "soup": {"name": "broth"}}),
    ],
)
def test_settings_are_read_as_toml_or_else_as_text(setting: str, values: dict[str, object]) -> None:
    given: dict[str, object] = {"soup": {"name": "broth"}}
    assert override(given, [setting]) == {"soup": {"name": "broth"}} | values


@pytest.mark.parametrize("setting", ["soup.salt", "=3", " = 3", ""])
def test_a_setting_needs_a_key_and_a_value(setting: str) -> None:
    with pytest.raises(ConfigError, match=r"is not a setting; expected section\.key=value"):
        override({}, [setting])


@given(
    st.builds(
        Soup,
        name=st.text(st.characters(exclude_categories=["Cs"])),
        salt=st.floats(0, 10),
        bowls=st.integers(1),
        hot=st.booleans(),
        size=st.sampled_from(["small", "large"]),
        guest=st.text(st.characters(exclude_categories=["Cs"])),
        herbs=st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), max_size=3).map(tuple),
    ),
    st.integers(1),
)
def test_to_toml_round_trip(soup: Soup, guests: int) -> None:
    meal = Meal(guests, soup)
    assert build(Meal, tomllib.loads(to_toml(meal))) == meal


# ---- a training run


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"kind": "delayed_entnet"}, "'kind' is 'delayed_entnet'; did you mean 'delayed-entnet'?"),
        ({"kind": 3}, "'kind' is 3; expected one of "),
        ({"kind": "entnet", "model": {"chain": 3}}, "unknown key 'model.chain'; did you mean 'chains'?"),
        ({"training": {"seed": 2**40}}, "'training.seed' is 1099511627776; expected at least 0 and at most"),
        ({"training": {"select": "macro_f1"}}, "'training.select' is 'macro_f1'; expected one of mean, "),
    ],
)
def test_what_is_wrong_in_a_run_is_named(values: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        run_config(values)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", SYSTEMS)
def test_a_run_of_every_kind_survives_toml(kind: str) -> None:
    config = run_config(
        {"kind": kind, "data": {"name": 'a "b"\n', "aspects": ["x", "Küche"]}, "training": {"rate": 1e-7}}
    )
    assert run_config(tomllib.loads(to_toml(config))) == config


@pytest.mark.parametrize("cls", [*SECTIONS, *dict.fromkeys(system.config_class for system in SYSTEMS.values())])
def test_every_option_has_one_line_of_help_and_a_good_default(cls: type) -> None:
    fields = dataclasses.fields(cls)
    assert fields
    for field in fields:
        assert field.metadata["help"].strip(), field.name
        assert "\n" not in field.metadata["help"], field.name
        assert field.metadata["help"][-1] not in ".#", field.name
    default = cls()
    assert build(cls, {field.name: getattr(default, field.name) for field in fields}) == default


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_shipped_configurations_are_right(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SYSTEMS, CROSS_ENCODER.name, CROSS_ENCODER)
    config = read_config(path)
    assert isinstance(config, RunConfig)
    assert read_config(path, ("training.epochs=3",)).training.epochs == 3
    assert run_config(tomllib.loads(to_toml(config))) == config
