import re

import numpy as np
from scipy.integrate import trapezoid

from banklearn import demo


def test_the_demo_runs_and_writes_what_it_says(tmp_path, capsys):
    assert demo.main(["--quick", "--out", str(tmp_path / "new" / "folder")]) == 0
    printed = capsys.readouterr().out
    files = sorted((tmp_path / "new" / "folder").iterdir())
    assert [f.name for f in files] == [
        "arm-predictions.png",
        "arm-report.html",
        "diabetes-predictions.png",
        "diabetes-report.html",
        "synthetic-kernel.png",
        "synthetic-spectrum.png",
        "synthetic-traces.png",
    ]
    for file in files:
        assert file.name in printed
        if file.suffix == ".png":
            assert file.read_bytes().startswith(b"\x89PNG")
            assert file.stat().st_size > 20_000
    assert printed.count("BankRegressor") == printed.count("RKSRegressor") == 2
    lines = " ".join(printed.split())
    told = re.findall(r"error is ([\d.]+) % of that of a fixed kernel", lines)
    own, fixed = (
        [float(e) for e in re.findall(rf"{name} │ ([\d.]+)", lines)]
        for name in ("BankRegressor", "RKSRegressor")
    )
    assert len(told) == len(own) == 2
    np.testing.assert_allclose([float(t) for t in told], 100 * np.divide(own, fixed), rtol=0.01)


def test_the_synthetic_kernel_is_the_paper_s():
    t = np.linspace(0.0, 8.0, 50)
    expected = np.exp(-(t**2) / 8.0) * (0.5 + 0.5 * np.cos(0.75 * np.pi * t))
    np.testing.assert_allclose(demo.synthetic_kernel(t), expected, atol=1e-14)
    omega = np.linspace(0.0, 12.0, 20_001)
    density = demo.synthetic_spectral_density(omega)
    transform = [2.0 * trapezoid(density * np.cos(omega * lag), omega) for lag in t]
    np.testing.assert_allclose(transform, expected, atol=1e-6)


def test_the_learned_kernel_is_nearer_to_the_truth_than_the_best_rbf():
    X, y = demo.make_synthetic(demo.FULL.rows, input_std=20.0, noise_std=0.3, seed=0)
    result = demo.learn_kernel(X, y, 0, demo.FULL)
    assert result.learned_error < result.rbf_error
