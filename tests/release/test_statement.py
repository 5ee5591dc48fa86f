from __future__ import annotations

from fractions import Fraction
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
import yaml

import hourglass as hg

FRAME = pd.DataFrame({"id": [1, 1, 2], "g": ["a", "b", "b"], "x": [1.0, 2.0, 3.0]})

#: What NIST SP 800-226 has an evaluator ask of a claim, and where the statement answers.
NIST: dict[str, tuple[str, ...]] = {
    "variant": ("dp_variant", "variant_name"),
    "epsilon": ("privacy_loss", "privacy_parameters", "epsilon"),
    "unit of privacy": ("privacy_loss", "privacy_unit"),
    "neighbouring data": ("privacy_loss", "privacy_unit_details"),
    "what is not protected": ("dp_variant", "unprotected_quantities"),
    "bounds and contributions": ("implementation", "preprocessing_and_hyperparameter_tuning"),
    "mechanism": ("implementation", "mechanisms"),
    "composition": ("implementation", "composition"),
    "trust model": ("deployment_model", "model_name"),
    "release type": ("deployment_model", "release_type"),
    "access": ("deployment_model", "access_type"),
}


def at(document: Any, path: tuple[str, ...]) -> Any:
    for step in path:
        document = document[step]
    return document


def grouped(**changes: Any) -> hg.Releases:
    settings: dict[str, Any] = {"bounds": (0, 5), "epsilon": "0.5", "by": "g"}
    found: hg.Releases = hg.mean(FRAME, "x", **(settings | changes))
    return found


def test_the_first_sentence_says_what_was_released(tmp_path: Any) -> None:
    ask: dict[str, Any] = {"bounds": (0, 5), "epsilon": 1}
    both = FRAME.assign(y=1.0)
    released = {
        "The mean, the sum and the count of a column were released.": hg.mean([1.0], **ask),
        "The mean, the sum and the count of x were released.": hg.mean(FRAME, "x", **ask),
        "The mean, the standard deviation, the sum and the count of x were released.": hg.mean(
            FRAME, "x", spread=True, **ask
        ),
        "The mean, the sum and the count of x were released, for each group of g.": grouped(
            keys=["a"]
        ),
        "The means and sums of 2 columns (x, y) were released together, with the one count that "
        "they share, for one epsilon.": hg.mean(both, ["x", "y"], **ask),
        "The number of rows was released.": hg.count(FRAME, epsilon=1),
        "The number of persons was released, for each group of g.": hg.count(
            FRAME, epsilon=1, by="g", keys=["a"], unit=hg.per_person("id")
        ),
    }
    for sentence, answer in released.items():
        assert str(answer.statement()).splitlines()[0] == sentence
    budget = hg.create_budget(tmp_path / "ledger.db", "b", epsilon=1)
    charged = str(hg.mean(FRAME, "x", budget=budget, **ask).statement(budget=budget))
    with pytest.raises(hg.OptionError, match=r"budget= takes the hg\.Budget .*, not a str$"):
        hg.count(FRAME, epsilon=1).statement(budget="b")
    assert charged.endswith("and releases not charged to budget b.")


def test_yaml_has_every_field_that_a_claim_must_state() -> None:
    statement = hg.mean([0.5], bounds=(0, 1), epsilon="0.1").statement()
    document = yaml.safe_load(statement.yaml)["deployment"]
    assert document == statement.to_dict()["deployment"]
    for question, path in NIST.items():
        assert at(document, path), question
    assert at(document, NIST["epsilon"]) == 0.1
    assert at(document, NIST["variant"]) == "Pure DP"
    assert "delta" not in document["privacy_loss"]["privacy_parameters"]
    assert "exactly 1/10" in statement.yaml


def test_secret_keys_make_it_approximate_and_say_the_threshold() -> None:
    statement = grouped(delta="1e-7").statement()
    document = yaml.safe_load(statement.yaml)["deployment"]
    assert at(document, NIST["variant"]) == "Approximate DP"
    assert document["privacy_loss"]["privacy_parameters"]["delta"] == 1e-7
    assert "noisy count is at least" in at(document, NIST["mechanism"])
    assert "names of the groups" not in at(document, NIST["what is not protected"])


def test_whose_presence_is_hidden_is_said_once() -> None:
    words = str(grouped(keys=["a"], unit=hg.per_person("id")).statement())
    assert words.count("counted once in one group") == 1
    assert "any one person (id: counted once in one group) with all of their rows." in words
    assert "A group was published only if" not in words
    secret = grouped(delta=1e-6)
    told = f"A group was published only if its noisy count was at least {secret.threshold};"
    assert told in str(secret.statement())


def test_public_keys_are_said_to_be_public() -> None:
    assert "names of the groups (g)" in grouped(keys=["a", "b"]).statement().words


def test_a_person_with_several_rows_is_said() -> None:
    found = grouped(keys=["a"], unit=hg.per_person("id", rows=3, groups=2)).statement()
    assert "person (id: up to 3 rows in up to 2 groups)" in found.words
    assert found.noise_epsilon == Fraction(1, 12)
    assert "drawn at epsilon 1/12" in found.yaml


def test_bounds_found_privately_are_said_to_be() -> None:
    bounds = hg.find_bounds(list(range(1000)), epsilon="0.3")
    words = hg.mean([0.5], bounds=bounds, epsilon=1).statement().words
    assert "found privately" in words
    assert "0.3" in words
    assert "public knowledge" not in words


def test_swap_and_seeded_bits_are_not_passed_over() -> None:
    release = hg.mean([0.5], bounds=(0, 1), epsilon=1, algorithm="swap", bits=hg.SeededBits(1))
    words = release.statement().words
    assert "number of records, which is published exactly" in words
    assert "NOT PRIVATE" in words
    assert "not whether it was counted: the number of records is published exactly" in words


def test_one_of_several_columns_says_what_all_of_them_spent_outside() -> None:
    three = pa.table({name: [1.0, 2.0] for name in "xyz"})
    found = hg.mean(three, ["x", "y", "z"], bounds=(0, 5), outside="3/10", epsilon=1)
    spent = "A share of 0.3 of epsilon was spent on counting the values below and above the bounds"
    assert f"{spent}, by the" in str(found.statement())
    one = found["x"].statement()
    assert f"{spent} of 3 columns, by the" in str(one)
    assert "the noise is drawn" not in one.yaml


@pytest.mark.parametrize("by", [{}, {"by": "g", "keys": ["a"]}], ids=str)
@pytest.mark.parametrize("statistic", ["mean", "sum", "count"])
def test_the_publisher_fills_in_the_rest(statistic: str, by: dict[str, Any]) -> None:
    table, of = pa.table({"g": ["a"], "x": [0.5]}), {"column": "x", "bounds": (0, 1)}
    more: dict[str, Any] = by if statistic == "count" else by | of
    release: Any = getattr(hg, statistic)(table, epsilon=1, **more)
    filled = release.statement(name="Visits: 2026", curator='A "clinic"', purpose="yes")
    basic = yaml.safe_load(filled.yaml)["deployment"]["basic"]
    assert basic["name"] == "Visits: 2026"
    assert basic["data_curators"] == [{"data_curator_name": 'A "clinic"'}]
    assert basic["intended_use"] == "yes"
    assert "(fill in)" in release.statement().yaml
    with pytest.raises(hg.OptionError, match="colour"):
        release.statement(colour="red")
