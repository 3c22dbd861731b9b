"""What comes out of a classifier: probabilities, intervals, the same bits, interruption."""

import _thread
import pickle
import threading
import time
import tracemalloc

import numpy as np
import pytest
from sklearn.metrics import log_loss
from sklearn.svm import SVC

from banklearn import BankClassifier
from banklearn.estimators.classifier import INTERVAL_BYTES
from banklearn.model.class_tree import stick
from helpers import close
from trees import HALVES, ONE_ALONE, rare_classes

SMALL = {
    "n_frequencies": 16,
    "n_warmup": 20,
    "n_draws": 10,
    "n_chains": 2,
    "thin": 1,
    "random_state": 0,
}


def make_data(n=200, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, (n, 2))
    f = 3.0 * np.sin(2 * X[:, 0])
    two = (rng.random(n) < 1 / (1 + np.exp(-f))).astype(int)
    three = np.where(X[:, 1] > 1.2, 2, two)
    five = rare_classes(X[:, 1])
    names = (
        np.array(["no", "yes"]),
        np.array(["a", "b", "c"]),
        np.array(["t", "u", "p", "q", "s"]),
    )
    return X, *(name[y] for name, y in zip(names, (two, three, five), strict=True))


X, TWO, THREE, FIVE = make_data()
NEW, NEW_TWO, NEW_THREE, NEW_FIVE = make_data(400, 1)
CASES = {
    f"{inference}, {len(set(y))} classes": (inference, y, new)
    for inference in ("polya-gamma", "laplace-mh")
    for y, new in ((TWO, NEW_TWO), (THREE, NEW_THREE))
}
#: With classes so rare that their probabilities have no mean in the middle.
RARE = {f"{inference}, rare": (inference, FIVE, NEW_FIVE) for inference, _, _ in CASES.values()}


def small(**changes):
    return BankClassifier(**(SMALL | changes))


@pytest.fixture(scope="module", params=CASES.values(), ids=CASES)
def case(request):
    inference, y, new = request.param
    return small(inference=inference, n_warmup=60).fit(X, y), y, new


@pytest.fixture(scope="module", params=[*CASES.values(), *RARE.values()], ids=[*CASES, *RARE])
def any_case(request):
    inference, y, new = request.param
    return small(inference=inference, n_warmup=60).fit(X, y), y, new


def test_it_learns(case):
    model, _, new = case
    # The best possible rule errs in about 15 % of the rows.
    assert model.score(NEW, new) > 0.75


def test_probabilities_agree_with_each_other(any_case):
    model, _, new = any_case
    p = model.predict_proba(NEW)
    close(p.sum(axis=1), 1.0, 1e-12)
    close(np.exp(model.predict_log_proba(NEW)), p, 1e-12)
    np.testing.assert_array_equal(model.predict(NEW), model.classes_[p.argmax(axis=1)])
    decision = model.decision_function(NEW)
    if len(model.classes_) == 2:
        close(1 / (1 + np.exp(-decision)), p[:, 1], 1e-9)
        np.testing.assert_array_equal(decision > 0, model.predict(NEW) == model.classes_[1])
    else:
        np.testing.assert_array_equal(decision.argmax(axis=1), p.argmax(axis=1))
    density = model.log_predictive_density(NEW, new)
    close(-density.mean(), log_loss(new, p, labels=model.classes_), 1e-9)
    assert np.isneginf(model.log_predictive_density(NEW[:1], ["zebra"]))[0]


def test_probabilities_are_averages_over_draws_and_weights(any_case):
    model, _, _ = any_case
    rows = model.input_scaling_(NEW[:7])
    total, latent = np.zeros((7, len(model.classes_))), []
    samples = []
    for draw in model.draws_:
        M = len(draw.W)
        columns = [np.ones((7, 1))]
        if model.trend_ == "linear":
            columns.append(rows / np.sqrt(2))
        for w in draw.W:
            columns.append(np.column_stack([np.cos(rows @ w), np.sin(rows @ w)]) / np.sqrt(M))
        Phi = np.concatenate(columns, axis=1)
        R = draw.root.shape[2]
        for r in range(R):
            for sign in (1, -1):
                beta = draw.mu_n + sign * np.sqrt(R) * draw.root[:, :, r]
                f = beta @ Phi.T
                latent.append(f)
                p = np.ones((7, len(model.classes_)))
                for (first, middle, last), row in zip(model.tree_.nodes, f, strict=True):
                    p[:, model.stick_[first:middle]] /= (1 + np.exp(-row))[:, None]
                    p[:, model.stick_[middle:last]] /= (1 + np.exp(row))[:, None]
                samples.append(p)
                total += p
    close(model.predict_proba(NEW[:7]), total / len(samples), 1e-8)
    mean, std = model.predict_latent(NEW[:7])
    latent = np.array(latent)
    latent = latent[:, 0] if len(model.classes_) == 2 else latent.transpose(0, 2, 1)
    close(mean, latent.mean(axis=0), 1e-7, 1e-8)
    close(std, latent.std(axis=0), 1e-6, 1e-7)
    lower, upper = model.predict_proba_interval(NEW[:7], 0.8)
    weight = 2 if model.inference == "laplace-mh" else 1  # one sample per draw, counted once
    kept = np.array(samples)[::weight]
    close(lower, np.quantile(kept, 0.1, axis=0), 1e-7, 1e-9)
    close(upper, np.quantile(kept, 0.9, axis=0), 1e-7, 1e-9)


def test_intervals_hold_the_mean_and_grow_with_coverage(case):
    model, _, _ = case
    p = model.predict_proba(NEW)
    lower, upper = model.predict_proba_interval(NEW, 0.95)
    assert np.mean((lower <= p) & (p <= upper)) > 0.995
    low, high = model.predict_proba_interval(NEW, 0.5)
    assert np.all((lower <= low) & (low <= high) & (high <= upper))
    if len(model.classes_) == 2:
        close(lower[:, 0], 1 - upper[:, 1], 1e-9, 1e-9)


def test_the_latent_function_of_two_classes_is_the_log_odds_of_the_second():
    long_enough = {"n_warmup": 60, "n_draws": 40}  # for two chains to say the same
    model = small(**long_enough).fit(X, TWO)
    mean, std = model.predict_latent(NEW)
    assert mean.shape == std.shape == (400,)
    assert np.corrcoef(mean, model.decision_function(NEW))[0, 1] > 0.95
    assert np.mean((mean > 0) == (model.predict(NEW) == "yes")) > 0.97
    turned = np.where(TWO == "yes", "a yes", "no")  # the order of names turns
    swapped = small(**long_enough).fit(X, turned)
    close(swapped.predict_proba(NEW)[:, 0], model.predict_proba(NEW)[:, 1], 0, 0.25)


def test_the_stick_begins_with_the_most_frequent_class():
    y = np.repeat([3, 5, 9], [30, 100, 70])
    model = small().fit(X, y)
    assert model.classes_.tolist() == [3, 5, 9]
    assert model.classes_[model.stick_].tolist() == [5, 9, 3]
    close(model.predict_proba(X).mean(axis=0), [0.15, 0.5, 0.35], 0, 0.06)


def test_the_tree_is_that_of_the_weights():
    y = np.repeat([3, 5, 9, 1, 2], [3, 191, 2, 3, 1])
    model = small().fit(X, y)
    assert model.classes_[model.stick_].tolist() == [5, 1, 3, 9, 2]
    assert model.tree_ == ONE_ALONE
    assert small(class_weight="balanced").fit(X, y).tree_ == stick(5)
    assert small().fit(X, y, np.where(y == 1, 62.0, 1.0)).tree_ == HALVES


def bits(model):
    return [(d.W, d.mu_n, d.root, d.pi, d.lam, d.chain, d.sweep) for d in model.draws_]


@pytest.mark.parametrize("inference", ["polya-gamma", "laplace-mh"])
def test_the_same_seed_gives_the_same_bits(inference):
    one, two = (small(inference=inference).fit(X, THREE) for _ in range(2))
    for a, b in zip(bits(one), bits(two), strict=True):
        for x, y in zip(a, b, strict=True):
            np.testing.assert_array_equal(x, y)
    other = small(inference=inference, random_state=1).fit(X, THREE)
    assert not np.array_equal(other.draws_[0].W, one.draws_[0].W)
    again = pickle.loads(pickle.dumps(one))
    np.testing.assert_array_equal(again.predict_proba(NEW), one.predict_proba(NEW))


def test_the_kernel_serves_other_classifiers():
    model = small().fit(X, TWO)
    svc = SVC(kernel=model.kernel_).fit(X[:100], TWO[:100])
    assert svc.score(NEW[:100], NEW_TWO[:100]) > 0.7


def test_a_gradient_move_can_be_mixed_in():
    model = small(gradient_every=2).fit(X, THREE)
    assert np.nanmax(model.trace_[0]["gradient_acceptance"]) > 0
    assert model.score(NEW, NEW_THREE) > 0.6


def test_the_joint_move_is_no_schedule_of_other_moves():
    (schedule,) = small(inference="laplace-mh", n_chains=1).fit(X, TWO).schedule_
    told = {name: value for name, value in schedule.items() if name.startswith("interweave")}
    assert set(told.values()) == {0.0}
    assert (schedule["gradient_rate"], schedule["gradient_tried"]) == (0.0, 0)


@pytest.mark.parametrize("inference", ["polya-gamma", "laplace-mh"])
def test_an_interruption_keeps_the_draws_so_far(inference, monkeypatch):
    from banklearn.estimators.progress import Progress

    seen = []
    monkeypatch.setattr(Progress, "__call__", lambda self, chain, *rest: seen.append(chain))

    def wait():
        end = time.monotonic() + 30
        while len(seen) < 60 and time.monotonic() < end:
            time.sleep(0.01)
        _thread.interrupt_main()

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    model = small(n_warmup=5, n_draws=10**6, inference=inference)
    with pytest.warns(UserWarning, match="Interrupted"):
        model.fit(X, TWO)
    thread.join()
    assert np.all(np.isfinite(model.predict_proba(NEW)))


def test_intervals_of_many_draws_and_classes_take_little_memory():
    rng = np.random.default_rng(6)
    X, y = rng.standard_normal((160, 2)), np.arange(160) % 8
    model = BankClassifier(4, n_warmup=0, n_draws=4, thin=1, n_chains=1, random_state=0).fit(X, y)
    model.draws_ = 50 * model.draws_
    rows = np.tile(X, (4, 1))[:512]
    tracemalloc.start()
    lower, upper = model.predict_proba_interval(rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    samples = sum(2 * draw.root.shape[2] for draw in model.draws_)
    assert 8 * samples * len(model.classes_) * len(rows) > 3 * INTERVAL_BYTES
    assert peak < 2.5 * INTERVAL_BYTES
    alone = model.predict_proba_interval(rows[[0, 200, 511]])
    np.testing.assert_allclose(np.stack([lower, upper])[:, [0, 200, 511]], alone, rtol=1e-9)
