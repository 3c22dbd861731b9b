"""Every example in the gallery runs, warns about nothing, and says what it should."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest

SCRIPTS = ("calibrated_risk", "co2_periods", "kernel_reuse", "spatial_field", "wide_table")


def load(repository: Path, name: str, monkeypatch):
    monkeypatch.syspath_prepend(str(repository / "examples"))
    spec = importlib.util.spec_from_file_location(name, repository / "examples" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module, sys.modules["gallery"]


def run(repository, name, monkeypatch, capsys, folder):
    module, gallery = load(repository, name, monkeypatch)
    model = module.main(gallery.Gallery.from_arguments("", ["--quick", "--out", str(folder)]))
    pictures = list(folder.glob("*.png"))
    assert len(pictures) == 1
    assert pictures[0].stat().st_size > 5000
    return model, capsys.readouterr().out


def test_every_script_is_listed(repository):
    found = {path.stem for path in (repository / "examples").glob("*.py")} - {"gallery"}
    assert found == set(SCRIPTS)
    nav = (repository / "mkdocs.yml").read_text(encoding="utf-8")
    assert all(f"gallery/{name}.md" in nav for name in SCRIPTS)


def test_the_periods_of_carbon_dioxide(repository, monkeypatch, capsys, tmp_path):
    pytest.importorskip("statsmodels", reason="statsmodels, which has the series, is missing")
    _, printed = run(repository, "co2_periods", monkeypatch, capsys, tmp_path)
    periods = [float(p) for p in re.findall(r"repeats with period ([\d.]+)", printed)]
    assert min(abs(p - 1.0) for p in periods) < 0.01
    assert min(abs(p - 0.5) for p in periods) < 0.01


def test_a_spatial_field(repository, monkeypatch, capsys, tmp_path):
    _, printed = run(repository, "spatial_field", monkeypatch, capsys, tmp_path)
    east, north = map(float, re.findall(r"to the \w+: ([\d.]+) km", printed))
    assert north > 1.3 * east
    learned, isotropic = map(float, re.findall(r"off by ([\d.]+)", printed))
    assert learned < isotropic


def test_a_wide_table(repository, monkeypatch, capsys, tmp_path):
    model, printed = run(repository, "wide_table", monkeypatch, capsys, tmp_path)
    assert float(re.search(r"right: ([\d.]+)", printed).group(1)) > 94
    assert "of which 10 never vary" in printed
    assert len(model.input_scaling_.used) == 64


def test_calibrated_risk(repository, monkeypatch, capsys, tmp_path):
    _, printed = run(repository, "calibrated_risk", monkeypatch, capsys, tmp_path)
    assert float(re.search(r"right: ([\d.]+)", printed).group(1)) > 90
    assert float(re.search(r"calibration error: ([\d.]+)", printed).group(1)) < 0.1
    at_half, by_cost = map(int, re.findall(r"(\d+) missed", printed))
    assert by_cost <= at_half


def test_kernel_reuse(repository, monkeypatch, capsys, tmp_path):
    _, printed = run(repository, "kernel_reuse", monkeypatch, capsys, tmp_path)
    shares = [float(share) for share in re.findall(r"([\d.]+) % right", printed)]
    assert len(shares) == 5
    assert min(shares) > 85
