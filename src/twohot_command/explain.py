"""`twohot explain`: what a word of the messages means, in a few sentences."""

from dataclasses import dataclass
from difflib import get_close_matches
from typing import Annotated

from typer import Argument

from twohot.base import ArgumentError
from twohot_command.terminal import print_table, say

# What `twohot explain` knows: words that messages and tables use, and the page of each ------------


@dataclass(frozen=True)
class Topic:
    """A word."""

    meaning: str  # a few sentences; the first tells alone
    page: str  # with the anchor of its section


AUDIT = "docs/audit.md#which-labels-are-wrong"
CHOICE = "docs/audit.md#autoprobe"

TOPICS = {
    "agreement": Topic(
        "The share of held-out given labels that a candidate predicts. It is the accuracy on noisy "
        "labels, and lower than that on true ones: with 60 % of the labels wrong even a perfect "
        "probe agrees with 40 %.",
        CHOICE,
    ),
    "backbone": Topic(
        "The frozen model that turns an image or a text into features. A probe remembers the one "
        "that made its features, and features of another are refused.",
        "docs/extraction.md#backbones",
    ),
    "budget": Topic(
        "The largest number of labels that are flagged, the most doubtful ones: what somebody has "
        "time to look at.",
        "docs/howto/flag.md",
    ),
    "candidate": Topic(
        "In a fit or a forecast: one way to make a probe that is tried, by penalty, loss, rounds "
        "and rows. In a report: a label that a row may have; two are shown, the likeliest first.",
        CHOICE,
    ),
    "discriminant": Topic(
        "Linear discriminant analysis: class means and one shrunk covariance, in closed form. It "
        "is ahead where labels are wrong at the boundaries of classes.",
        CHOICE,
    ),
    "eigengap": Topic(
        "The smallest eigenvalue between classes minus the largest inside of one: how far classes "
        "stand out from the differences of single rows. Where it is not above zero, rounds do not "
        "average labels by class.",
        "docs/theory.md#ask",
    ),
    "half-whitened": Topic(
        "Rows whose leading principal axes are brought nearer to one length. What tells classes "
        "apart is often not what varies most, and a penalty on plain rows holds exactly that back.",
        CHOICE,
    ),
    "id": Topic(
        "What a row is called in your data: your own column, the path of an image, or else the "
        "position in your file, from 0. Everything is joined by it.",
        "docs/feature_files.md#ids",
    ),
    "learnt-by-heart": Topic(
        "A label looks right to a model that was trained on it. Rows are therefore judged by fits "
        "that have not seen them; probabilities of your own should come from such fits too.",
        "docs/howto/own_probabilities.md",
    ),
    "likelihood": Topic(
        "The mean logarithm of the probability that a candidate gives to held-out labels, noise "
        "taken into account. It decides between candidates whose agreement cannot be told apart; "
        "nearer to zero is better.",
        CHOICE,
    ),
    "margin": Topic(
        "By how much the theory has the true label of a class ahead of the next one, for its "
        "rows that are worst off. Below zero some rows of the class end with a wrong label.",
        "docs/theory.md#ask",
    ),
    "member": Topic(
        "One of the classifiers that a fit tries: by its loss, penalty and rows. Those with a "
        "weight are members of the label model, which judges the labels.",
        CHOICE,
    ),
    "missing": Topic(
        "A row without a label: an empty cell, None, NaN or NA. It is predicted and never counted. "
        "The texts NA, NaN and None are classes unless --missing names them.",
        "docs/feature_files.md#other-formats",
    ),
    "near-duplicates": Topic(
        "Rows that are nearly the same. Two with different labels are the strongest evidence there "
        "is that one of them is wrong; one in the test data makes results look too good.",
        "docs/review.md#beside-wrong-labels",
    ),
    "noise": Topic(
        "The share of the labels that are wrong. The column of a fit has what makes the held-out "
        "labels likeliest under each candidate; a forecast and an audit judge every label.",
        AUDIT,
    ),
    "noise-interval": Topic(
        "The least and the most of the labels that may be wrong. Where classes overlap, the labels "
        "alone cannot tell more, and the interval is wide.",
        AUDIT,
    ),
    "outliers": Topic(
        "Rows that are like no others: the mean similarity to their nearest rows is far below "
        "that of most. Often they are broken or belong to no class.",
        "docs/review.md#beside-wrong-labels",
    ),
    "overlap": Topic(
        "Rows of two classes that look alike. A label there may be wrong or right, and features do "
        "not say which; other features may.",
        "docs/explanation/limits.md#classes-overlap",
    ),
    "passes": Topic(
        "Reads of all rows, each with two matrix products: the cost of a fit, the same on any "
        "machine.",
        "docs/explanation/solver.md#one-pass",
    ),
    "plain-probe": Topic(
        "Softmax regression on the given labels, with nothing against wrong ones. Where few labels "
        "are wrong it is as good as anything, and simpler.",
        "docs/explanation/limits.md#labels-are-clean-enough",
    ),
    "precision": Topic(
        "The share of the flagged labels that are truly wrong. --precision flags as many labels as "
        "keep it, by the probability of each that it is wrong. It is an estimate and no guarantee.",
        "docs/howto/flag.md",
    ),
    "probe": Topic(
        "A linear classifier on frozen features: one weight for every feature and class, nothing "
        "else is trained.",
        "docs/reference/probes.md",
    ),
    "ridge": Topic(
        "The strength of the penalty, without units: the same number means the same for any number "
        "of rows and classes. Large is simple, small follows the labels.",
        "docs/reference/glossary.md#words",
    ),
    "robust": Topic(
        "By a loss that bounds what one wrong label can cost: generalised cross-entropy.",
        CHOICE,
    ),
    "rounds": Topic(
        "A probe fitted again to its own outputs: round 1 is the teacher, fitted to the given "
        "labels, and each round averages labels over rows that are alike.",
        "docs/theory.md#ask",
    ),
    "separation": Topic(
        "How much less a round shrinks what the rows of a class share than what one row has "
        "alone, q/p of the paper. The larger, the fewer rounds a label needs to be outvoted.",
        "docs/theory.md#ask",
    ),
    "spreadsheet-safe": Topic(
        "Spreadsheets execute cells that begin like a formula. --spreadsheet-safe puts an "
        "apostrophe before them, which every command takes off again.",
        "docs/review.md#from-decisions-to-labels",
    ),
    "student": Topic(
        "A probe fitted to the outputs of another one, its teacher, and not to the given labels.",
        "docs/reference/glossary.md#words",
    ),
    "superclass": Topic(
        "Several classes that look alike, such as kinds of flowers. They are confused with each "
        "other first; without any given, classes are clustered by their correlations.",
        "docs/superclasses.md#what-is-computed",
    ),
    "teacher": Topic(
        "The probe fitted to the given labels, round 1; students are fitted to its outputs.",
        "docs/reference/glossary.md#words",
    ),
    "two-hot": Topic(
        "A target that gives equal weight to the two likeliest labels of the teacher. A student "
        "fitted to such targets needs only one of the two to be true.",
        "docs/theory.md#ask",
    ),
    "undecided": Topic(
        "Two candidates are about equally likely for the row. Such suggestions are not taken "
        "unless a person does.",
        AUDIT,
    ),
    "weight": Topic(
        "How much a member counts in the label model. Weights make the given labels likeliest, the "
        "noise taken into account; a member without one is not used.",
        CHOICE,
    ),
}


# How alike two words are that are one, misspelt or in the plural; "class" and "passes" are less.
SPELLING = 0.8


def explain(
    topic: Annotated[str | None, Argument(help="A word; without one all are listed.")] = None,
) -> None:
    """Explain a word of the messages, and say which page has more."""
    if topic is None:
        rows = ((name, entry.meaning.partition(". ")[0]) for name, entry in TOPICS.items())
        print_table(("topic", "in short"), rows, names=("topic", "in short"))
        return
    found = TOPICS.get(topic.lower().replace(" ", "-"))
    if found is None:
        near = get_close_matches(topic.lower(), TOPICS, n=1, cutoff=SPELLING)
        ways = f"ask for {near[0]!r}" if near else f"the topics are {', '.join(TOPICS)}"
        raise ArgumentError({"topic": topic}, "is no topic", f"{ways}.")
    say(found.meaning)
    say(f"More: {found.page}")
