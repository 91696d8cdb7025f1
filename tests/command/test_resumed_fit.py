"""`twohot fit` that was stopped goes on where it was, to the same file."""

import pytest
from label_tables import blobs, run, write_table, wrong_every

from twohot.judge import library


@pytest.fixture
def source(tmp_path):
    features, true = blobs(300)
    return write_table(tmp_path / "x.csv", features, label=wrong_every(true, 5))


def stop_after(number, monkeypatch):
    """Let a choice be interrupted; return a list with an entry for every fit in a fold."""
    made, fit = [], library.fit_round

    def fit_or_stop(*args):
        made.append(args)
        if len(made) == number:
            raise KeyboardInterrupt
        return fit(*args)

    monkeypatch.setattr(library, "fit_round", fit_or_stop)
    return made


def fitted(source, output, *more):
    return run("fit", source, "-o", output, "--quiet", *more)


def test_a_stopped_fit_goes_on_to_the_same_probe(source, tmp_path, monkeypatch):
    whole, output = tmp_path / "whole.safetensors", tmp_path / "p.safetensors"
    made = stop_after(0, monkeypatch)
    assert fitted(source, whole).exit_code == 0
    n_fits = len(made)
    made = stop_after(8, monkeypatch)
    assert fitted(source, output).exit_code != 0
    checkpoint = tmp_path / "p.safetensors.checkpoint"
    assert checkpoint.exists()
    assert not output.exists()
    result = fitted(source, output)
    assert result.exit_code == 0, result.output
    assert f"Continued from the checkpoint {checkpoint}" in result.output
    # The fit that was stopped is made again, and none that was finished.
    assert len(made) == n_fits + 1
    assert output.read_bytes() == whole.read_bytes()
    assert not checkpoint.exists()


def test_what_another_fit_left_is_replaced(source, tmp_path, monkeypatch):
    output = tmp_path / "p.safetensors"
    with monkeypatch.context() as patched:
        stop_after(8, patched)
        assert fitted(source, output).exit_code != 0
    result = fitted(source, output, "--seed", 1)
    assert result.exit_code == 0, result.output
    assert "p.safetensors.checkpoint belongs to another fit and is replaced" in result.output
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["p.safetensors", "x.csv"]
