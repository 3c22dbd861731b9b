"""What the paper reports: its two tables and its claims about time.

Source: Oliva, Dubey, Wilson, Poczos, Schneider, Xing, "Bayesian Nonparametric Kernel-Learning",
AISTATS 2016, tables "Regression MSE on UCI MLR" and "Classification Prediction Error on UCI MLR"
(section 4), transcribed from the authors' LaTeX source. The figures of section 4 come as pictures
without numbers, so of the timing experiment only the claims in words are here.
"""

from __future__ import annotations

from dataclasses import dataclass

SOURCE = "Oliva et al., Bayesian Nonparametric Kernel-Learning, AISTATS 2016"

REGRESSION_METHODS = ("rks", "mkl", "alacarte", "bank")
CLASSIFICATION_METHODS = ("rks", "mkl", "rfo", "bank")
#: Random features of every method: 384 frequencies, a cosine and a sine each.
FEATURES = 768
FREQUENCIES = FEATURES // 2
#: Numbers of frequencies of the timing experiment.
TIMING_FREQUENCIES = (24, 48, 96, 192, 384)


@dataclass(frozen=True)
class Reported:
    """A cell of a table: mean, standard error, and the paper's marks.

    ``lowest`` is the asterisk; ``bold`` means not significantly worse than the lowest.
    """

    value: float
    error: float
    lowest: bool = False
    bold: bool = False


def _row(
    methods: tuple[str, ...], values: tuple[tuple[float, float], ...], lowest: str, bold: str = ""
) -> dict[str, Reported]:
    return {
        method: Reported(*pair, method == lowest, method == lowest or method in bold.split())
        for method, pair in zip(methods, values, strict=True)
    }


_R, _C = REGRESSION_METHODS, CLASSIFICATION_METHODS

#: Mean squared error by set and method, targets standardised.
REGRESSION: dict[str, dict[str, Reported]] = {
    "concrete": _row(
        _R, ((0.1313, 0.0189), (0.0942, 0.0100), (0.0682, 0.0092), (0.1195, 0.0108)), "alacarte"
    ),
    "noise": _row(
        _R,
        ((0.6974, 0.0244), (0.3217, 0.0256), (0.3395, 0.0489), (0.3359, 0.0354)),
        "mkl",
        "alacarte bank",
    ),
    "prop": _row(
        _R, ((0.0006, 3.6e-6), (4.2e-5, 5.7e-6), (0.0003, 0.0002), (8.9e-6, 1.2e-6)), "bank"
    ),
    "bike": _row(
        _R,
        ((0.1832, 0.0049), (0.1509, 0.0057), (0.0467, 0.0016), (0.0496, 0.0022)),
        "alacarte",
        "bank",
    ),
    "toms": _row(
        _R, ((0.0479, 0.0109), (0.0891, 0.0100), (0.6583, 0.0413), (0.0083, 0.0018)), "bank"
    ),
    "cte": _row(
        _R, ((0.0886, 0.0014), (0.0442, 0.0003), (0.6223, 0.0053), (0.0101, 0.0003)), "bank"
    ),
    "music": _row(
        _R, ((0.8333, 0.0028), (0.8524, 0.0029), (0.7318, 0.0705), (0.7042, 0.0038)), "bank"
    ),
    "twitter": _row(
        _R, ((0.3837, 0.0397), (0.4572, 0.0175), (0.2223, 0.0358), (0.0981, 0.0211)), "bank"
    ),
}

#: Share of wrong labels by set and method.
CLASSIFICATION: dict[str, dict[str, Reported]] = {
    "pima": _row(
        _C, ((0.332, 0.0201), (0.4455, 0.0533), (0.2592, 0.0214), (0.263, 0.0111)), "rfo", "bank"
    ),
    "diabetic": _row(
        _C, ((0.3312, 0.0083), (0.3051, 0.0004), (0.4263, 0.0007), (0.279, 0.0022)), "bank"
    ),
    "eeg": _row(
        _C, ((0.0706, 0.0019), (0.0544, 0.0021), (0.2411, 0.1123), (0.0686, 0.0012)), "mkl", "bank"
    ),
    "space": _row(
        _C, ((0.0022, 0.0004), (0.0015, 0.0001), (0.0018, 7e-5), (0.0009, 0.0001)), "bank", "mkl"
    ),
    "susy": _row(
        _C, ((0.2009, 0.0002), (0.201, 0.0001), (0.2089, 0.00026), (0.2005, 0.0001)), "bank"
    ),
    "skin": _row(_C, ((0.1135, 0.113), (0.2737, 0.105), (0.0043, 0.001), (0.0004, 0.0001)), "bank"),
}

#: Slopes of log time against log size that the paper states, by axis and sampler.
SLOPES = {
    ("N", "regression"): 1.0,
    ("N", "polya-gamma"): None,  # not the paper's sampler
    ("N", "laplace-mh"): 1.0,
    ("M", "regression"): 2.0,
    ("M", "polya-gamma"): None,
    ("M", "laplace-mh"): 1.0,
}


def reported(name: str, method: str) -> Reported | None:
    """The paper's cell, or None where it has none."""
    return {**REGRESSION, **CLASSIFICATION}.get(name, {}).get(method)


def best(name: str) -> float | None:
    """The lowest value of any method in the paper."""
    row = {**REGRESSION, **CLASSIFICATION}.get(name)
    return min(cell.value for cell in row.values()) if row else None
