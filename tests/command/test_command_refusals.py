"""What a command refuses: one sentence that names the option, before the work, nothing written.

Every line of `REFUSED` is a command and a part of what it says.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from label_tables import NAMES, blobs, everything, run, write_table, wrong_every

from audits import audit_rows
from pictures import write_photos
from twohot import LinearProbe
from twohot.audit import read_audit_folder, write_audit_folder, write_check
from twohot.base.labels import code_labels
from twohot.review.records import ReviewSummary
from twohot.tables import FeatureTable, write_features
from twohot.tables.csv_file import write_csv

ROWS = audit_rows(12, items=tuple(f"item, {i}" for i in range(12)), item_kind="text")
REPORT = ROWS.report_id()
DECISIONS = ["report", "id", "decision", "label"]


def write_feature_tables(folder):
    """Write tables of thirty rows in three classes that are well apart."""
    features, true = blobs(30)
    labels = [NAMES[k] for k in true]
    split = ["train"] * 15 + ["test"] * 15
    owners = ["" if row in {3, 4} else f"owner {row // 3}" for row in range(30)]
    for name, columns in {
        "table": {"label": labels},
        "new": {},
        "split='a'": {},
        "one": {"label": ["2"] * 30},
        "rare": {"label": ["2"] * 29 + ["10"]},
        "empty": {"label": [""] * 30},
        "later": {"label": [""] * 15 + labels[15:], "split": split},
        "other": {"label": wrong_every(true, 7, ["cat", "dog", "fox"])},
        "gaps": {"label": labels, "owner": owners},
        "two": {"label": labels, "y": labels, "note": ["-"] * 30},
    }.items():
        write_table(folder / f"{name}.csv", features, **columns)
    write_table(folder / "narrow.csv", features[:, :3], label=labels)
    write_table(folder / "apart.csv", features[:, :0], a=labels, b=labels)
    np.save(folder / "X.npy", features)
    (folder / "two.txt").write_text("2\n10\n")
    LinearProbe().fit(features, code_labels(labels)).save(folder / "p.safetensors")
    table = FeatureTable(
        features=features,
        labels=true,
        classes=NAMES,
        split=true // 2,
        split_names=("train", "test"),
    )
    write_features(folder / "in.features", table)
    (folder / "short.features").write_bytes((folder / "in.features").read_bytes()[:-1])
    write_features(folder / "true.features", FeatureTable(
        features=features, labels=true, true_labels=true, classes=NAMES))  # fmt: skip
    for name, corner in {"good": 0, "bad": 1}.items():
        (folder / f"{name}_m.csv").write_text(f"2,10,30\n0,1,0\n0,0,1\n1,0,{corner}\n")


def write_decisions(folder):
    """Write decisions that an audit cannot take, of a review that is there."""
    for name, decided in {
        "unknown": [("99", "2")],
        "twice": [("1", "2"), ("1", "10")],
        "outside": [("1", "yak")],
        "open": [],
    }.items():
        lines = [["r1", row, "relabel", label] for row, label in decided]
        write_csv(folder / f"{name}.csv", DECISIONS, lines)
    write_audit_folder(folder / "review", ROWS, ReviewSummary())
    for name, lines in {
        "decisions": [[REPORT, "0", "accept", ""]],
        "stranger": [[REPORT, "99", "accept", ""]],
        "foreign": [["r0", "0", "accept", ""]],
        "yak": [[REPORT, "0", "relabel", "[yak]"]],
    }.items():
        write_csv(folder / f"{name}.csv", DECISIONS, lines)
    write_csv(folder / "unlabelled.csv", DECISIONS[:3], [[REPORT, "0", "accept"]])
    write_csv(folder / "moody.csv", [*DECISIONS, "mood"], [[REPORT, "0", "accept", "", "x"]])
    write_audit_folder(folder / "drawn", audit_rows(240), ReviewSummary())
    draw = write_check(folder / "drawn", read_audit_folder(folder / "drawn"), 0.1).draw
    verdicts = [[str(row), "wrong" if place else ""] for place, row in enumerate(draw.rows)]
    write_csv(folder / "unfinished.csv", ["id", "verdict"], verdicts)


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """Return a folder with all that is spoken of."""
    folder = tmp_path_factory.mktemp("refused")
    write_feature_tables(folder)
    write_decisions(folder)
    write_photos(folder / "photos")
    pd.DataFrame({"path": ["gone.png"], "kind": ["a"]}).to_csv(folder / "list.csv", index=False)
    (folder / "old").write_text("mine")
    shutil.copytree(folder / "photos" / "cat", folder / "mixed" / "cat")
    shutil.copy(folder / "photos" / "dog" / "000.png", folder / "mixed" / "loose.png")
    (folder / "none").mkdir()
    (folder / "none" / "a.txt").touch()
    return folder


REFUSED = """
describe split='a'.csv | no label column among 'x0', 'x1', 'x2'
describe split='b'.csv | split='b'.csv does not exist: pass the path of a table of features.
describe two.csv | 'label' and 'y' could both be the label column (in two.csv): choose one by --
describe X.npy --labels apart.csv | apart.csv has the columns 'a', 'b': choose the label column by
describe X.npy --labels apart.csv --label-column c=1 | --label-column='c=1' is missing (in X.npy
describe X.npy --labels apart.csv --label-column a --classes two.txt | not among the 2 classes
describe two.csv --label-column y --feature-column note | column 'note' holds no numbers (in two
describe table.csv --split test | --split='test' is not in this table, which has no splits.
describe table.csv --superclasses 11 | --superclasses=11 is more than the 3 classes
describe table.csv --cut 1.5 | --cut=1.5 is not a fraction of the largest merge distance
describe table.csv --cut 0.5 --superclasses 2 | --superclasses=2 and --cut=0.5 both set
describe gone.csv -o out | gone.csv does not exist
forecast one.csv -o out | y has only one class ('2')
forecast empty.csv -o out | no label in
forecast rare.csv -o out --quiet | y has 1 class with at least two rows, of 2
forecast table.csv -o old/out | is inside
fit new.csv -o x | no label column among
fit table.csv -o x --feature-column z | --feature-column='z' is missing
fit later.csv -o x | later.csv has no label in the 15 rows of its split 'train'
fit table.csv -o table.csv --force | is the input file
fit table.csv -o old | old already exists: pass --force
fit table.csv -o photos | is a folder: pass the name of a file
fit table.csv -o no/x | is in a folder that does not exist
fit table.csv -o x --figure x.doc | does not end in .png or .svg
fit table.csv -o x --figure table.csv | is the input file
fit table.csv -o x.png --figure x.png | are the same file: choose different names
fit photos -o x | is a folder: extract features of its files by `twohot extract`
fit in.features --labels photos -o x | is a folder: pass a label file (`twohot apply`
predict p.safetensors new.csv -o table.csv | table.csv already exists: pass --force
predict p.safetensors new.csv -o x.npz | x.npz does not end in .csv
predict p.safetensors new.csv -o new.csv --force | is the input file
predict table.csv new.csv -o x.csv | table.csv
predict p.safetensors new.csv -o x.csv --split val | --split='val'
evaluate p.safetensors narrow.csv | same backbone
evaluate p.safetensors other.csv | only labels that the probe does not know ('cat', 'dog', 'fox')
evaluate p.safetensors table.csv -o old | --output=old is a file: pass the name of a folder
audit empty.csv -o out | empty.csv has no label in its 30 rows, but this command needs labels
audit table.csv -o out --probe table.csv | table.csv
audit other.csv -o out --probe p.safetensors | 3 labels that are not among the 3 classes
audit narrow.csv -o out --probe p.safetensors | was fitted on 6
audit table.csv -o out --budget 1 --precision 0.5 | --budget=1 and --precision=0.5 both set
audit table.csv -o out --images . | --images=. needs image paths
audit table.csv -o out --group-column none | --group-column='none' is missing
audit gaps.csv -o out --group-column owner | has no group in 2 rows (id '3', '4'): fill in these
audit table.csv -o out --checked unknown.csv | --checked has 1 id ('99') that is not in the data
audit table.csv -o out --checked twice.csv | has different verdicts on row '1': pass only one
audit table.csv -o out --checked outside.csv | --checked has 'yak' for row '1', which is neither
audit table.csv -o out --checked open.csv | --checked holds no decision: pass the decisions
audit table.csv -o out --checked table.csv | table.csv lacks 3 columns (report, id, decision)
audit table.csv -o old | old is a file: pass the name of a folder
audit table.csv -o old/audit | is inside
audit review/issues.csv -o review --force | is an input and would be replaced by the audit in review
audit table.csv --labels review/issues.csv -o review --force | would be replaced by the audit in re
audit table.csv --checked review/corrected.csv -o review --force | would be replaced by the audit in
audit table.csv -o out --draw-check .1 --seed 9007199254740991 | is larger than the integers that a
audit table.csv -o out --draw-check 1 | --draw-check=1.0 is not allowed: pass a number of at least 1
audit table.csv -o out --draw-check .001 | needs 3000 checked rows, but at most 30 labels can be fla
audit table.csv -o out --draw-check .1 --budget 30 | needs 30 checked rows, but at most 30 labels ca
audit table.csv -o out --fail-above "5 percent" | --fail-above='5 percent' is not a fraction from
audit table.csv -o out --fail-above 101% | --fail-above='101%' is not a fraction
audit table.csv -o out --junit junit.xml | --junit=junit.xml needs a fraction to compare
audit table.csv -o out --fail-on upper | --fail-on='upper' needs a fraction to compare with: pass
audit table.csv -o out --annotations | --annotations needs a fraction to compare with: pass
audit table.csv -o out --fail-above 5% --junit out/issues.csv --force | is a file of the audit: choo
audit table.csv -o out --fail-above 5% --junit out/check.csv --force | is a file of the audit: choos
audit table.csv -o out --fail-above 5% --junit out/certificate.json --force | is a file of the audit
audit table.csv -o out --fail-above 5% --junit out/review.html --force | is a file of the audit: cho
audit table.csv -o out --fail-above 5% --junit out/issues.parquet/junit.xml | is a file of the audit
audit table.csv -o out --fail-above 5% --certificate drawn/check.json | describes a draw of rows to
audit table.csv -o out --fail-above 5% --certificate drawn/issues.csv | issues.csv was not written b
audit table.csv -o out --fail-above 5% --certificate no.json | does not exist: pass the certificate.
audit table.csv -o out --fail-above 5% --fail-on estimate --certificate no.json | does not work with
apply --audit review | nothing to apply: pass a decisions file or --accept-all
apply no.csv --audit review | no.csv
apply decisions.csv | summary.json does not exist
apply decisions.csv --audit review -o no/such/out.csv | no/such
apply decisions.csv --audit review --to own.csv | --to=own.csv does not exist
apply decisions.csv --audit review --to decisions.csv | needs another path for the corrected
apply decisions.csv --audit review --to review -o c | ids of the audit are positions in the file
apply decisions.csv --audit review --to review/issues.csv -o c --label-column item | has 'item, 0'
apply decisions.csv --audit review -o decisions.csv --force | is the input file
apply decisions.csv --audit review -o review/issues.csv --force | is the input file
apply decisions.csv --audit review -o review/summary.json --force | is the input file
apply decisions.csv --audit review -o old | old already exists
apply stranger.csv --audit review -o x | row 99 was decided but is not in the audit
apply foreign.csv --audit review -o x | report 'r0', but the audit has report 'r
apply yak.csv --audit review -o x | label '[yak]', which is none of the 4
apply unlabelled.csv --audit review -o x | unlabelled.csv lacks 1 column (label)
apply moody.csv --audit review -o x | has 1 unknown column ('mood')
certify drawn drawn/check.csv --fdr .2 | --fdr=0.2 differs from 0.1, for which the rows were drawn
certify drawn unfinished.csv | has no verdict on 1 of the 30 rows that were drawn ('
certify drawn | pass the file of your verdicts, or --extend=… to draw more rows
certify drawn unfinished.csv --extend 100 | pass the file of your verdicts, or --extend=… to draw
certify drawn --extend 100 | draw rows first
review review --until 1% | --until=0.01 allows no wrong label among 12 labels: review
review review --until 10% --seed 9007199254740991 | --seed=9007199254740991 is larger than the inte
review review --until many | --until='many' is not a fraction from 0 to 1: pass
review review --until 10% --twice 200% | --twice='200%' is not a fraction
review review --until 10% --images . | --images=. needs image paths, which
corrupt in.features --rate 1.5 -o x.features | --rate
corrupt in.features --kind odd --rate .5 -o x.features | --kind
corrupt in.features -o x.features | --kind symmetric needs --rate, and does not accept --matrix.
corrupt in.features --rate .5 --matrix good_m.csv -o x.features | needs --rate, and does not accept
corrupt in.features --kind matrix -o x.features | needs --matrix, and does not accept --rate
corrupt in.features --kind boundary -o x.features | needs --rate, and does not accept --matrix or
corrupt in.features --kind boundary --rate .5 --exact -o x.features | --kind boundary needs
corrupt in.features --kind boundary --rate .96 -o x.features | pass a number from 0 to 0.95
corrupt in.features --kind matrix --matrix bad_m.csv -o x.features | does not sum to one
corrupt in.features --rate .5 -o in.features --force | is the input file: choose another name
corrupt in.features --rate .5 -o x.npz | --output=x.npz does not end in .features
corrupt short.features --rate .5 -o x.features | is not a feature file, or is truncated
corrupt true.features --rate .5 -o x.features | already has true labels
extract gone --backbone pixels -o x.features | SOURCE='gone' is not a folder, not a file, and not
extract table.csv --text-column label --unlabelled --backbone pixels -o x.features | takes images, b
extract list.csv --backbone pixels -o x.features | name the label column by --label-column=…
extract list.csv --backbone pixels --label-column kind -o x.features | missing file ('gone.png')
extract food101 --backbone pixels --root r -o x.features | food101 was not found, because
extract photos/cat --backbone pixels -o x.features | pass --unlabelled to use all images but no
extract mixed --backbone pixels -o x.features | ('mixed/loose.png') next to its class folders: pass
extract none --backbone pixels --unlabelled -o x.features | there are no images in 1 folder ('none')
extract list.csv --backbone pixels --label-column kin -o x.features | --label-column='kin' is miss
extract list.csv --backbone pixels --label-column kind --unlabelled -o x.features | contradict each
extract photos --backbone pixels --label-column a -o x.features | is for CSV and Parquet files, not
extract photos --backbone pixels --missing NA -o x.features | is for CSV and Parquet files, not for
extract digits --backbone pixels --unlabelled -o x.features | is not for datasets: digits has labe
fit wandb://b/x.parquet -o x | wandb://b/x.parquet needs wandbfs: pip install "wandbfs"
describe odd://b/x.parquet | odd://b/x.parquet cannot be opened (Protocol not known: odd)
fit memory://b/x.parquet -o x | memory://b/x.parquet does not exist: pass Parquet files
fit table.csv -o s3://b/x | --output=s3://b/x is not a local path
fit table.csv --classes gs://b/x -o x | --classes='gs://b/x' is not a local path: download the
evaluate az://b/p.st table.csv | az://b/p.st' is not a local path: download the
predict p.safetensors new.csv -o wandb://b/out | needs wandbfs: pip install
demo -o none | has files that are not from a demo
demo --noise 1.5 | --noise
demo --unknown | --unknown
dance | dance
"""


@pytest.mark.parametrize("line", REFUSED.strip().splitlines())
def test_rejects_and_writes_nothing(made, monkeypatch, line):
    command, message = line.split(" | ")
    monkeypatch.chdir(made)
    before = everything(made)
    result = run(*shlex.split(command, posix="'" not in command))
    assert result.exit_code in {1, 2}, result.output
    assert message in result.output
    assert "Error" in result.output
    assert "Traceback" not in result.output
    assert everything(made) == before


# What another user than the owner of these files may not do; it is said before the work.
FORBIDDEN = """
describe hidden.csv | is not readable
fit secret/table.csv -o mine/x | secret/table.csv cannot be read or written: Permission denied
audit table.csv -o mine/x --labels hidden.csv | is not readable
apply decisions.csv --audit secret -o mine/x.csv | is not readable
describe table.csv -o ro/x | --output=ro/x cannot be written (Permission denied)
forecast table.csv -o ro/x | --output=ro/x cannot be written (Permission denied)
fit table.csv -o ro/x | --output=ro/x cannot be written (Permission denied)
fit table.csv -o mine/x --figure ro/x.png | --figure=ro/x.png cannot be written (Permission denied)
audit table.csv -o ro | --output=ro cannot be written (Permission denied)
apply decisions.csv --audit review | =review/reviewed.csv cannot be written (Permission denied)
predict p.safetensors new.csv -o ro/x.csv | --output=ro/x.csv cannot be written (Permission denied)
predict p.safetensors new.csv -o ro/x | --output=ro/x cannot be written (Permission denied)
evaluate p.safetensors table.csv -o ro/x | --output=ro/x cannot be written (Permission denied)
corrupt table.csv --rate .1 -o ro/x.features | cannot be written (Permission denied)
extract photos --backbone pixels -o ro/x.features | cannot be written (Permission denied)
demo -o ro/x | --output=ro/x cannot be written (Permission denied)
"""
AS_NOBODY = """
import json, os, shlex, sys
# Others may not read these.
import encodings.utf_8_sig, matplotlib.figure, PIL.Image, pyarrow.parquet
from label_tables import run
from twohot_command.commands import COMMANDS
for name in COMMANDS:
    run(name, "--help")
os.setgroups([]); os.setgid(65534); os.setuid(65534)
results = [run(*shlex.split(command)) for command in json.loads(sys.argv[1])]
said = [result.output or repr(result.exception) for result in results]
print(json.dumps(said))
"""


@pytest.mark.skipif(getattr(os, "getuid", lambda: 1)() != 0, reason="only root may be another user")
def test_rejects_forbidden_paths_before_the_work(made):
    with tempfile.TemporaryDirectory() as name:  # others may not enter those of pytest
        folder = Path(name)
        shutil.copytree(made, folder, dirs_exist_ok=True)
        for place, mode in {"ro": 0o755, "secret": 0o700, "mine": 0o777, ".": 0o755}.items():
            (folder / place).mkdir(exist_ok=True)
            (folder / place).chmod(mode)
        shutil.copy(folder / "table.csv", folder / "secret")
        shutil.copy(folder / "table.csv", folder / "hidden.csv")
        (folder / "hidden.csv").chmod(0o600)
        commands, messages = zip(
            *(line.split(" | ") for line in FORBIDDEN.strip().splitlines()), strict=True
        )
        before = everything(folder)
        result = subprocess.run(  # noqa: S603
            [sys.executable, "-c", AS_NOBODY, json.dumps(commands)],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.returncode == 0, result.stderr
        found = zip(commands, messages, json.loads(result.stdout), strict=True)
        assert [line for line in found if line[1] not in line[2]] == []
        assert everything(folder) == before
