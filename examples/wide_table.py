"""A wide table: handwritten digits, 64 pixels each, and which of them matter.

Images of 8 x 8 pixels come with scikit-learn. Threes and eights differ on their left side, which
no single pixel says alone. Inputs that never vary are left out by themselves, and relevance finds
the pixels that the answer hangs on.
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import train_test_split

from banklearn import BankClassifier
from gallery import Gallery


def main(gallery: Gallery) -> BankClassifier:
    """Threes against eights, with the relevance of every pixel."""
    images, digits = load_digits(return_X_y=True)
    chosen = np.isin(digits, (3, 8))
    X, y = images[chosen], digits[chosen]
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
    model = BankClassifier(
        gallery.budget(24, 96),
        n_chains=gallery.budget(1, 2),
        n_warmup=gallery.budget(20, 150),
        n_draws=gallery.budget(8, 40),
        input_scaling="standard",
        random_state=0,
    ).fit(X_train, y_train)

    names = [f"row {i // 8 + 1}, column {i % 8 + 1}" for i in range(64)]
    explanation = model.explain(X_train, names=names)
    still = sum(not one.varies for one in explanation.inputs)
    linear = RidgeCV().fit(X_train, np.where(y_train == 8, 1.0, -1.0))
    signs = np.where(linear.predict(X_test) > 0, 8, 3)
    print(f"{X.shape[1]} inputs, of which {still} never vary, and {len(X_train)} rows")
    print(f"right: {100 * model.score(X_test, y_test):.1f} % (a linear rule: ", end="")
    print(f"{100 * np.mean(signs == y_test):.1f} %)")
    print("the three most relevant pixels:")
    for one in explanation.by_relevance()[:3]:
        value, low, high = (100 * v for v in one.relevance)
        print(f"  {one.name}: {value:.0f} % of the variance ({low:.0f} to {high:.0f})")

    share = [
        0.0 if one.relevance is None else 100 * one.relevance.value for one in explanation.inputs
    ]
    ax = gallery.axes("column", "row")
    drawn = ax.imshow(np.reshape(share, (8, 8)), extent=(0.5, 8.5, 8.5, 0.5))
    ax.figure.colorbar(drawn, label="% of the variance that goes with the pixel")
    gallery.save(ax, "wide-relevance")
    return model


if __name__ == "__main__":
    main(Gallery.from_arguments(__doc__))
