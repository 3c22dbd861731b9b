"""Joint distribution tests and calibration at full size, for one master seed.

`pytest -m slow tests/statistical --master-seed 7` uses other random numbers throughout;
`benchmarks/master_seeds.py` runs many master seeds on many cores.
"""

from pathlib import Path

import pytest

import calibration
import geweke
from trust import LIMIT, SIZES, Unit, calibration_p, run_unit, units

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]


@pytest.fixture(scope="module")
def plots(repository) -> Path:
    """Quantile plots are kept here; the folder is not under version control."""
    return repository / "statistics-output"


@pytest.mark.parametrize("name", geweke.ALONE)
def test_an_update_alone_keeps_the_law_of_the_model(name, master_seed, plots):
    p = run_unit(Unit("alone", name), master_seed, plots)
    assert min(p.values()) > LIMIT, p


@pytest.mark.parametrize("name", geweke.WHOLE)
def test_sweeps_and_data_in_turn_simulate_the_model(name, master_seed, plots):
    p = run_unit(Unit("whole", name), master_seed, plots)
    assert min(p.values()) > LIMIT, p


@pytest.mark.parametrize("name", calibration.SETTINGS)
def test_true_values_rank_uniformly_among_the_draws(name, master_seed):
    parts = [unit for unit in units(("calibration",)) if unit.name == name]
    chunks = [run_unit(unit, master_seed) for unit in parts]
    assert sum(map(len, chunks)) == SIZES["calibration"] >= 500
    p = calibration_p(name, chunks, master_seed)
    assert min(p.values()) > LIMIT, p
