"""Classification with calibrated risk: is a tumour malignant?

The Wisconsin breast cancer data come with scikit-learn. A probability is worth something if it
comes true: of the patients who are given 80 %, about 80 % should be ill. Each probability has an
interval that says how much the data know about that patient, and a decision follows from what the
two mistakes cost.
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from banklearn import BankClassifier
from banklearn.posterior.calibration import reliability
from banklearn.viz import ReliabilityDisplay
from gallery import Gallery

#: Missing a tumour is taken to be ten times as bad as a false alarm.
COST_OF_MISSING, COST_OF_ALARM = 10.0, 1.0


def main(gallery: Gallery) -> BankClassifier:
    """Fit two thirds of the patients, judge the probabilities on the others."""
    X, benign = load_breast_cancer(return_X_y=True, as_frame=True)
    malignant = 1 - benign
    X_train, X_test, y_train, y_test = train_test_split(
        X, malignant, test_size=0.33, random_state=0, stratify=malignant
    )
    model = BankClassifier(
        gallery.budget(24, 96),
        n_chains=gallery.budget(1, 2),
        n_warmup=gallery.budget(25, 200),
        n_draws=gallery.budget(10, 50),
        random_state=0,
    ).fit(X_train, y_train)

    risk = model.predict_proba(X_test)[:, 1]
    lower, upper = model.predict_proba_interval(X_test, 0.9)
    width = (upper - lower)[:, 1]
    right = 100 * np.mean((risk > 0.5) == y_test)
    print(f"right: {right:.1f} %, log loss {log_loss(y_test, risk):.3f}")
    print(f"expected calibration error: {reliability(risk, y_test, bins=10).error:.3f}")
    unsure = np.argsort(-width)[:3]
    for place in unsure:
        print(
            f"least known: risk {risk[place]:.2f}, between {lower[place, 1]:.2f} and "
            f"{upper[place, 1]:.2f}"
        )
    threshold = COST_OF_ALARM / (COST_OF_ALARM + COST_OF_MISSING)
    for name, limit in (("one half", 0.5), (f"{threshold:.2f}, by cost", threshold)):
        alarm = risk > limit
        missed = int(np.sum(~alarm & (y_test == 1)))
        false = int(np.sum(alarm & (y_test == 0)))
        cost = COST_OF_MISSING * missed + COST_OF_ALARM * false
        print(f"threshold {name}: {missed} missed, {false} false alarms, cost {cost:.0f}")

    ax = gallery.axes("", "")
    ReliabilityDisplay.from_estimator(model, X_test, y_test, positive=1, bins=10, ax=ax)
    gallery.save(ax, "risk-reliability")
    return model


if __name__ == "__main__":
    main(Gallery.from_arguments(__doc__))
