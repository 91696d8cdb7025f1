"""Fits of the two-hot student that start elsewhere."""

from small_data import small_data
from twohot_paper.grid_makers import STARTS, StartsMaker, StartsResult, StartsRun, measure_starts
from twohot_paper.runs import as_json, from_json


def test_every_start_is_compared_with_the_first(tmp_path):
    data, paths = small_data(tmp_path)
    maker = StartsMaker()
    (run,) = maker.runs([data])
    assert run.labels.noise_rate == 0.5
    found = measure_starts(run, paths)
    assert [fit.start for fit in found.fits] == list(STARTS)
    assert found.fits[0].largest_difference == 0.0
    assert found.fits[0].agreement == 1.0
    assert all(fit.gradient_norm <= run.tol for fit in found.fits if fit.converged)
    # Random starts are no repetitions of the first.
    assert max(fit.largest_difference for fit in found.fits[2:]) > 0
    assert from_json(StartsResult, as_json(found)) == found
    assert from_json(StartsRun, as_json(run)) == run
    made = maker.make({run: found}, [data])
    assert len(made.tables["starts"].rows) == len(STARTS)
    assert "superclass noise, η = 0.5" in made.subject


def test_without_data_there_is_nothing_to_show():
    assert StartsMaker().runs([]) == []
    assert StartsMaker().make({}, []).tables == {}
