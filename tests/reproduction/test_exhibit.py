"""Figures and tables in TOML files: valid keys, and how names are found."""

import pytest

from twohot_paper.exhibit import choose_exhibits, exhibits, read_exhibit

TEXT = """
id = "fig:mine"
title = "Mine"
place = "not in the paper"
needs = "features"
minutes = 1.0
maker = "gains"

[settings]
seeds = [0]
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("title =", "titel =", "fig-mine.toml: Exhibit does not know 'titel' and lacks 'title'"),
        ("seeds =", "seedz =", "fig-mine.toml: GainMaker does not know 'seedz'"),
        ("[0]", '"zero"', "fig-mine.toml: 'zero' is not of type tuple"),
        ('"gains"', '"gain"', "fig-mine.toml has maker = 'gain'"),
        ('"features"', '"nothing else"', "fig-mine.toml has needs = 'nothing else'"),
        ("id =", "id ==", "fig-mine.toml is not TOML"),
    ],
)
def test_rejects_invalid_toml(old, new, message):
    with pytest.raises(ValueError, match="fig-mine") as raised:
        read_exhibit("fig-mine", TEXT.replace(old, new))
    assert message in str(raised.value)


def test_groups_name_several_exhibits_once():
    every = choose_exhibits(["all"])
    assert every == list(exhibits())
    parts = choose_exhibits(["synthetic", "real"])
    assert {each.id for each in parts} == {each.id for each in every}
    assert all(each.needs == "nothing" for each in choose_exhibits(["synthetic"]))
    assert choose_exhibits(["fig:acc_gain", "synthetic"])[0].id == "fig:acc_gain"
    assert len(choose_exhibits(["fig:acc_gain", "fig:acc_gain"])) == 1


def test_all_figures_and_tables_of_the_paper_exist():
    labels = """fig:gram_mat fig:ft_corr fig:eigenspectrum fig:output_clst fig:output_evolution_full
        fig:acc_gain fig:clean_noisy_output table:label_corruption_three fig:real_gain
        fig:superclass_base fig:sym_base fig:asym_base fig:superclass_small fig:sym_small
        fig:asym_small fig:superclass_big fig:sym_big fig:asym_big fig:real_evolution
        fig:real_evolution_full fig:topk fig:topk_full fig:sm_error fig:lambda_pq tab:cf_class_stat
        fig:exp_vit fig:hier_clsuter1 fig:hier_clsuter2"""
    assert set(labels.split()) <= {each.id for each in exhibits()}


@pytest.mark.parametrize(
    ("name", "needs", "other"),
    [
        ("fig:gram_mat", "CIFAR-100 features", "fig:ft_corr"),
        ("fig:hier_clsuter1", "CIFAR-100, Caltech-101 or Caltech-256 features", "fig:dendrograms"),
        ("fig:topk", "CIFAR-100 features", "fig:topk_full"),
    ],
)
def test_exhibit_of_one_dataset_names_the_general_one(name, needs, other):
    (exhibit,) = choose_exhibits([name])
    assert exhibit.needs_words == needs
    assert exhibit.on_any_features().id == other
    assert exhibit.lacks_words.startswith(f"{needs}, a file whose name starts with cifar100")
    assert exhibit.on_any_features().needs_words == "features"


@pytest.mark.parametrize(
    ("name", "ids"),
    [
        ("Figure 4", ["fig:real_gain"]),
        ("figure 3A", ["fig:acc_gain"]),
        ("Fig. 3b", ["fig:clean_noisy_output"]),
        ("Figure 3", ["fig:acc_gain", "fig:clean_noisy_output"]),
        ("Table 2", ["tab:cf_class_stat"]),
    ],
)
def test_finds_exhibits_by_place(name, ids):
    assert [exhibit.id for exhibit in choose_exhibits([name])] == ids


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("Figure 4b", "Figure 4 (fig:real_gain)"),
        ("Table 3", "Table 2"),
        ("fig:aac_gain", "fig:acc"),
    ],
)
def test_unknown_names_suggest_similar_ones(name, near):
    with pytest.raises(ValueError, match="is not a figure or table of the paper") as raised:
        choose_exhibits([name])
    assert near in str(raised.value)
