import json
import re

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import accuracy_score, confusion_matrix, log_loss

from banklearn.report import render, summarise
from banklearn.report.classes import class_sentences
from fitted import two_classes


@pytest.fixture(scope="module")
def summary():
    model, X, y = two_classes()
    return summarise(model, X, y, LogisticRegression().fit(X, y), title="Who <wins>?")


def test_a_summary_of_a_classifier_is_plain_json(summary):
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary


def test_scores_equal_those_computed_independently(summary):
    model, X, y = two_classes()
    own = summary["scores"]["BankClassifier"]
    p = model.predict_proba(X)
    assert own["accuracy"] == pytest.approx(accuracy_score(y, model.predict(X)))
    assert own["log_loss"] == pytest.approx(log_loss(y, p))
    best, right = p.max(axis=1), model.predict(X) == y
    place = np.minimum((best * 15).astype(int), 14)
    gaps = [
        abs(best[place == b].mean() - right[place == b].mean()) * np.mean(place == b)
        for b in np.unique(place)
    ]
    assert own["calibration"] == pytest.approx(sum(gaps))
    assert summary["confusion"] == confusion_matrix(y, model.predict(X)).tolist()
    assert set(summary["scores"]) == {"BankClassifier", "LogisticRegression"}


def test_the_page_says_what_the_summary_says(summary):
    html = render(summary)
    for sentence in class_sentences(summary):
        assert sentence in html
    assert "Who &lt;wins&gt;?" in html
    assert html.count("<svg") == 5
    assert "predicted 1" in html
    assert "http" not in re.sub(r'xmlns(:\w+)?="[^"]*"', "", html)
    assert "noise" not in html.lower()
    assert render(json.loads(json.dumps(summary))) == html


def test_a_rival_without_probabilities_and_a_class_never_seen():
    model, X, y = two_classes()
    labels = np.where(np.arange(len(y)) == 0, 7, y)
    result = summarise(model, X, labels, RidgeClassifier().fit(X, y))
    assert set(result["scores"]["RidgeClassifier"]) == {"accuracy"}
    assert result["scores"]["BankClassifier"]["log_loss"] > 700 / len(y)
    assert "\N{EN DASH}" in render(result)


@pytest.mark.parametrize(
    ("other", "words"), [(0.0, "more often"), (1.0, "less often"), (None, "about as often")]
)
def test_the_comparison_in_words(summary, other, words):
    changed = json.loads(json.dumps(summary))
    own = changed["scores"]["BankClassifier"]
    own["accuracy"] = 0.5
    changed["scores"]["LogisticRegression"]["accuracy"] = 0.5 if other is None else other
    assert words in " ".join(class_sentences(changed))


def test_labels_that_the_model_cannot_know_are_told(summary):
    model, X, y = two_classes()
    labels = np.where(np.arange(len(y)) < 3, 7, y)
    found = summarise(model, X, labels)
    (told,) = [words for words in found["warnings"] if "did not occur in training" in words]
    assert told.startswith(f"3 of {len(y)} rows have labels that did not occur in training (7).")
    assert sum(found["data"]["class_counts"]) == len(y) - 3
    assert not any("did not occur" in words for words in summary["warnings"])
