"""Made-up series with planted periods."""

import numpy as np

from banklearn.datasets.series import make_series, write_series


def test_a_series_is_written_with_its_names(tmp_path):
    series = make_series(0)
    write_series(tmp_path / "series.csv", series, ("t", "value"))
    found = np.genfromtxt(tmp_path / "series.csv", delimiter=",", names=True)
    assert found.dtype.names == ("t", "value")
    np.testing.assert_allclose(found["t"], series.x, rtol=1e-8)
    np.testing.assert_allclose(found["value"], series.y, rtol=1e-7, atol=1e-8)
