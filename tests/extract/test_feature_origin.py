"""The origin of features that a probe stores, and which features are compatible."""

from dataclasses import replace

import numpy as np
import pytest

from twohot import LinearProbe, load
from twohot.base.messages import ArgumentError
from twohot.extract import Backbone, extract, load_data_set, read_item_table
from twohot.extract.output import FeatureOrigin
from twohot.tables import read_features
from twohot.tables.table import FeatureTable

ORIGIN = FeatureOrigin("resnet50", "image", "c0ffee" * 4, "float16")


def test_table_has_the_origin_of_its_features(tmp_path):
    extract(load_data_set("digits"), "pixels", tmp_path / "digits.features", dtype="float32")
    found = FeatureOrigin.of_table(read_features(tmp_path / "digits.features"))
    assert found == FeatureOrigin("pixels", "image", "", "float32")
    (tmp_path / "t.csv").write_text("message,kind\nhello,a\nbye,b\n")
    items = read_item_table(tmp_path / "t.csv", text_column="message", label_column="kind")
    count = Backbone("length", "text", len, lambda lengths: np.array(lengths)[:, None], {})
    extract(items, count, tmp_path / "t.features", dtype="float32")
    table = read_features(tmp_path / "t.features")
    assert (table.label_column, table.item_column) == ("kind", "message")
    assert FeatureOrigin.of_table(table).item_column == "message"
    unknown = FeatureTable(features=np.eye(2), labels=np.array([0, 1]), classes=("a", "b"))
    assert FeatureOrigin.of_table(unknown) is None


@pytest.mark.parametrize(
    ("other", "same", "name"),
    [
        (replace(ORIGIN, dtype="float32"), True, "'resnet50' with weights c0ffeec0"),
        (replace(ORIGIN, backbone="vit_b_16"), False, "'resnet50'"),
        (replace(ORIGIN, weights=""), False, "'resnet50' with weights c0ffeec0"),
    ],
    ids=["dtype", "backbone", "weights"],
)
def test_features_are_compatible_if_name_and_weights_are_equal(other, same, name):
    assert ORIGIN.is_compatible_with(other) is same
    assert ORIGIN.distinct_name(other) == name


def test_rejects_changed_weights():
    assert FeatureOrigin("pixels", "image", "", "float16").load().name == "pixels"
    with pytest.raises(ArgumentError, match="backbone='pixels' has other weights now than"):
        FeatureOrigin("pixels", "image", "c0ffee", "float16").load()


@pytest.mark.parametrize(
    "record", [{}, {"backbone": "pixels"}, {**ORIGIN.to_json(), "kind": "sound"}]
)
def test_other_record_is_no_origin(record):
    assert FeatureOrigin.from_json(record) is None


def test_probe_file_keeps_the_origin(tmp_path):
    X, y = np.eye(4), ["a", "a", "b", "b"]
    probe = LinearProbe().fit(X, y)
    assert probe.feature_origin_ == {}
    probe.feature_origin_ = ORIGIN.to_json()
    probe.save(tmp_path / "p")
    load(tmp_path / "p").save(tmp_path / "again")
    assert FeatureOrigin.from_json(load(tmp_path / "again").feature_origin_) == ORIGIN
    assert probe.fit(X, y).feature_origin_ == {}
