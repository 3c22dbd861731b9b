import json
import re

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import accuracy_score, confusion_matrix, log_loss

from banklearn import BankClassifier
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


def test_a_baseline_of_the_same_class_has_a_row_of_its_own():
    model, X, y = two_classes()
    guess = BankClassifier(4, n_warmup=2, n_draws=2, n_chains=1, random_state=0)
    guess.fit(X, np.random.default_rng(0).permutation(y))
    scores = summarise(model, X, y, guess)["scores"]
    assert list(scores) == ["BankClassifier", "BankClassifier (baseline)"]
    assert scores["BankClassifier"]["accuracy"] == pytest.approx(model.score(X, y))
    assert scores["BankClassifier (baseline)"]["accuracy"] == pytest.approx(guess.score(X, y))


def test_labels_to_judge_by_are_one_known_label_for_each_row():
    model, X, y = two_classes()
    flat = summarise(model, X, y)["scores"]
    assert summarise(model, X, np.asarray(y)[:, None])["scores"] == flat
    with pytest.raises(ValueError, match=f"X_test has {len(X)} rows, but y_test has 5"):
        summarise(model, X, y[:5])
    holes = np.asarray(y, dtype=object)
    holes[3] = None
    with pytest.raises(ValueError, match="y_test has no label in row 3"):
        summarise(model, X, holes)
    with pytest.raises(ValueError, match="but is 'train'"):
        summarise(model, X, y, standing="train")
    numbers = np.unique(y, return_inverse=True)[1] + 5
    with pytest.raises(ValueError, match="is a class of the baseline"):
        summarise(model, X, y, LogisticRegression().fit(X, numbers))
