"""Class probabilities from draws, against the definition."""

import numpy as np
from scipy.special import expit

from banklearn.model.class_tree import class_probabilities, stick
from banklearn.numerics.linalg import JitterCount
from banklearn.numerics.streams import Streams
from banklearn.posterior.classify import (
    latent_samples,
    mean_probabilities,
    probability_samples,
)
from banklearn.posterior.draws import WEIGHT_DRAWS, classification_draw, weights_draw
from banklearn.sampler import joint_move, precision
from banklearn.sampler.sweep import Chain
from helpers import close, plain_features
from labels import draw_labels, gram_of, make_labelled
from trees import HALVES, log_path, make_classes


def test_one_decision_is_logistic_regression():
    f = np.linspace(-5, 5, 11)[None]
    np.testing.assert_array_equal(class_probabilities(stick(2), f)[0], expit(f[0]))


def test_labels_are_drawn_with_those_probabilities():
    f = np.repeat([[0.7], [-0.4]], 20_000, axis=1)
    y = draw_labels(f, np.random.default_rng(0))
    share = np.bincount(y.astype(int)) / len(y)
    close(share, class_probabilities(stick(3), f)[:, 0], 0, 0.02)


def solved_chain(problem):
    working = problem.logistic.working(problem.beta, Streams(0), 1)
    gram = gram_of(problem, working)
    solved = precision.solve(gram, problem.state.lam, problem.logistic, JitterCount())
    return Chain(problem.state, gram, solved, problem.beta)


def test_latent_samples_have_the_law_of_the_weights():
    problem = make_labelled(1, N=30, C=3, trend="linear")
    chain = solved_chain(problem)
    X = np.random.default_rng(0).standard_normal((5, 2))
    Phi = plain_features(X, problem.state.W, "linear")
    samples = []
    for seed in range(300):
        rng = np.random.default_rng(seed)
        draw = classification_draw(chain, problem.prior, 0, 1, rng)
        f = latent_samples(draw, X, "linear")
        assert f.shape == (2 * WEIGHT_DRAWS, 2, 5)
        # Both signs of every draw of the weights: the mean is exact.
        expected = np.stack([s.mu_n @ Phi.T for s in chain.solved.solutions])
        close(f.mean(axis=0), expected, 1e-8, 1e-9)
        samples.append(f)
    variance = np.concatenate(samples).var(axis=0)
    for t, solution in enumerate(chain.solved.solutions):
        A = solution.L @ solution.L.T
        close(variance[t], np.einsum("nP,PQ,nQ->n", Phi, np.linalg.inv(A), Phi), 0.12)


def test_weights_that_were_sampled_are_used_as_they_are():
    problem = make_labelled(2, C=3)
    chain = joint_move.place(problem.engine(), problem.model, problem.state, problem.beta)
    draw = weights_draw(chain, problem.prior, 0, 1, np.random.default_rng(0))
    f = latent_samples(draw, problem.X, "none")
    close(f, (problem.beta @ problem.features().T)[None], 1e-9, 1e-10)


def test_the_mean_is_over_all_samples():
    problem = make_labelled(3, C=4)
    chain = solved_chain(problem)
    rng, tree = np.random.default_rng(0), stick(4)
    draws = [classification_draw(chain, problem.prior, 0, i, rng) for i in range(3)]
    samples = np.concatenate(list(probability_samples(draws, problem.X, "none", tree)))
    close(mean_probabilities(draws, problem.X, "none", tree), samples.mean(axis=0), 1e-12)


def test_samples_follow_the_tree():
    problem = make_classes(2, C=5)
    assert problem.tree == HALVES
    chain = joint_move.place(problem.engine(), problem.model, problem.state, problem.beta)
    draw = weights_draw(chain, problem.prior, 0, 1, np.random.default_rng(0))
    (sample,) = probability_samples([draw], problem.X, "none", HALVES)
    log_p = log_path(HALVES, problem.beta @ problem.features().T)
    close(sample[0], np.exp(log_p), 1e-9)
    # The likelihood that the sampler sees is the predicted probability of the observed class.
    seen = sample[0][problem.y.astype(int), range(len(problem.y))]
    (block,) = problem.engine().blocks()
    f = problem.beta @ problem.features().T
    close(problem.logistic.log_likelihoods(block, f, np.ones(1)), np.log(seen).sum(), 1e-10)
