"""Chains notice where single precision shows in the log evidence, and go on without it."""

import threading

import numpy as np
import pytest

from banklearn.engines.memory import MemoryEngine
from banklearn.likelihoods.gaussian import Gaussian
from banklearn.likelihoods.logistic import Logistic
from banklearn.numerics.linalg import NumericalError
from banklearn.numerics.streams import Streams
from banklearn.sampler import rounding, sweep
from banklearn.sampler.run import Plan, run_chain
from banklearn.sampler.sweep import Model, Tuning
from helpers import close, make_problem, problem_log_evidence

PLAN = Plan(n_warmup=30, n_draws=3, thin=2)


def case(noise, seed=0, N=600, arithmetic="mixed"):
    """A problem whose signal is large beside its noise, and its engine."""
    problem = make_problem(seed, N=N, M=8, trend="constant")
    rng = np.random.default_rng(seed)
    y = np.sin(problem.X[:, 0]) + noise * rng.standard_normal(N)
    model = Model(problem.prior, Gaussian(1.0, 1e-12), "constant")
    return problem, MemoryEngine(problem.X, y, arithmetic=arithmetic), model


def kept(chain, number):
    return chain.state.W.copy(), chain.solved.log_evidence


def started(problem, engine, model, lam=1e-2):
    return sweep.init(engine, model, problem.state.with_(lam=lam), Streams(0))


def test_the_error_is_the_difference_of_log_evidences():
    problem, engine, model = case(0.01)
    chain = started(problem, engine, model)
    error = rounding.rounding_error(engine, model, chain, Streams(0), 0)
    mixed, double = (
        sweep.init(e, model, chain.state, Streams(0)).solved.log_evidence
        for e in (engine, engine.exact())
    )
    close(error, abs(mixed - double), 1e-9, 1e-12)
    assert error > 0


def test_the_log_evidence_in_double_precision_is_the_dense_one():
    problem, engine, model = case(0.3, N=25)
    close(
        sweep.init(engine.exact(), model, problem.state, Streams(0)).solved.log_evidence,
        problem_log_evidence(
            type(problem)(
                problem.X, engine.y, None, problem.state,
                type(problem.prior)(**{**problem.prior.__dict__, "a0": 1.0, "b0": 1e-12}),
                "constant",
            )
        ),
        1e-8,
        1e-8,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("noise", "lam", "shows"), [(0.3, 1e-2, False), (1e-5, 1e-8, True), (1e-5, 1e-2, False)]
)
def test_rounding_shows_where_noise_is_small(noise, lam, shows):
    problem, engine, model = case(noise)
    chain = started(problem, engine, model, lam)
    assert rounding.shows(engine, model, chain, Streams(0), 0) == shows
    assert not rounding.shows(engine.exact(), model, chain, Streams(0), 0)


@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_what_is_no_number_shows(value, monkeypatch):
    problem, engine, model = case(0.3)
    chain = started(problem, engine, model)
    monkeypatch.setattr(rounding, "rounding_error", lambda *_: value)
    assert rounding.shows(engine, model, chain, Streams(0), 0)


def collinear(M=24, N=600):
    """Features of one input that single precision cannot tell apart, and a state for them."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (N, 1))
    problem = make_problem(0, N=N, d=1, M=M, trend="constant")
    state = problem.state.with_(W=rng.uniform(0.0, 2.0, (M, 1)), lam=1e-9)
    y = X[:, 0] ** 2 + 1e-3 * rng.standard_normal(N)
    model = Model(problem.prior, Gaussian(1.0, 1e-12), "constant")
    return MemoryEngine(X, y, arithmetic="mixed"), model, state


def test_features_that_cannot_be_factored_show():
    engine, model, state = collinear()
    with pytest.raises(NumericalError, match="could not be factored"):
        sweep.init(engine, model, state, Streams(0))
    chain = sweep.init(engine.exact(), model, state, Streams(0))
    with pytest.raises(NumericalError):
        rounding.restated(engine, model, chain, Streams(0), 0)
    likelihood = Logistic(2)
    labels = MemoryEngine(engine.X, (engine.y > 0.3) * 1.0, arithmetic="mixed")
    classes = Model(model.prior, likelihood, "constant")
    chain = sweep.init(labels.exact(), classes, state.with_(lam=1e-12), Streams(0))
    assert rounding.rounding_error(labels, classes, chain, Streams(0), 0) == np.inf


@pytest.mark.parametrize("where", ["start", "sweep"])
def test_a_chain_whose_statistic_cannot_be_factored_goes_on_in_double_precision(where):
    engine, model, state = collinear()
    failures = []

    class Kernel:
        """Sweeps that start, or go on, in single precision only as long as nothing is factored."""

        @staticmethod
        def init(engine, model, state, streams, number, beta):
            try:
                return sweep.init(engine, model, state, streams, number, beta)
            except NumericalError:
                failures.append(("start", engine.arithmetic))
                if where == "start":
                    raise
                return sweep.init(engine.exact(), model, state, streams, number, beta)

        @staticmethod
        def step(chain, engine, model, tuning, streams, number, *rest):
            try:
                return sweep.step(chain, engine, model, tuning, streams, number, *rest)
            except NumericalError:
                failures.append(("sweep", engine.arithmetic))
                raise

    with pytest.MonkeyPatch.context() as patch:
        if where == "sweep":  # as if rounding had not shown when it was last looked for
            patch.setattr(rounding, "shows", lambda *_: False)
            extended = sweep.extended

            def spoiled(engine, *rest):
                found = extended(engine, *rest)
                if engine.arithmetic == "mixed":
                    found.G[0] -= 1e-3 * found.G[0].max() * np.eye(len(found.G[0]))
                return found

            patch.setattr(sweep, "extended", spoiled)
        found = run_chain(engine, model, state, PLAN, Streams(0), kept, Tuning(), Kernel)
    assert (where, "mixed") in failures
    assert not [arithmetic for _, arithmetic in failures if arithmetic == "double"]
    assert found.arithmetic == "double"
    W, value = found.draws[-1]
    end = state.with_(W=W, lam=found.trace[-1].lam)
    close(value, sweep.init(engine.exact(), model, end, Streams(0)).solved.log_evidence, 1e-9, 1e-6)


def test_what_fails_in_double_precision_fails():
    class Kernel:
        @staticmethod
        def init(*_):
            raise NumericalError("not even so")

    for arithmetic in ("mixed", "double"):
        problem, engine, model = case(0.3, arithmetic=arithmetic)
        with pytest.raises(NumericalError, match="not even so"):
            run_chain(engine, model, problem.state, PLAN, Streams(0), kept, Tuning(), Kernel)


def test_a_classifiers_row_weights_are_the_same_for_both(monkeypatch):
    problem, engine, _ = case(0.3)
    engine = MemoryEngine(engine.X, (engine.y > 0) * 1.0, arithmetic="mixed")
    model = Model(problem.prior, Logistic(2), "constant")
    chain = sweep.init(engine, model, problem.state, Streams(0))
    # Drawn apart, Polya-Gamma variables of another stream would differ by far more.
    assert rounding.rounding_error(engine, model, chain, Streams(0), 3) < 1e-3
    monkeypatch.setattr(MemoryEngine, "freeze", lambda self, working, W, trend: working)
    other = Streams(5)
    draws = iter([Streams(6), Streams(7)] * 50)

    class Restless(Logistic):
        def working(self, beta, streams, number):
            return lambda block, latent: super(Restless, self).working(beta, next(draws), number)(
                block, latent
            )

    apart = Model(problem.prior, Restless(2), "constant")
    assert rounding.rounding_error(engine, apart, chain, other, 3) > 1e-2


def chained(noise, arithmetic, seed=0, bookmark=None, plan=PLAN):
    problem, engine, model = case(noise, seed, arithmetic=arithmetic)
    start = problem.state.with_(lam=1e-3)
    return run_chain(
        engine, model, start, plan, Streams(seed), kept, Tuning(), sweep, bookmark=bookmark
    )


def test_a_chain_keeps_single_precision_where_noise_allows_it():
    mixed, double = chained(0.3, "mixed"), chained(0.3, "double")
    assert (mixed.arithmetic, double.arithmetic) == ("mixed", "double")
    # The same decisions: rounding is that small.
    for (W, value), (W_double, exact) in zip(mixed.draws, double.draws, strict=True):
        np.testing.assert_array_equal(W, W_double)
        assert value != exact
        close(value, exact, 1e-7, rounding.LARGEST)


def test_a_chain_gives_it_up_where_it_does_not():
    mixed = chained(1e-5, "mixed")
    assert mixed.arithmetic == "double"
    problem, engine, model = case(1e-5)
    W, value = mixed.draws[-1]
    chain = sweep.init(
        engine.exact(), model, problem.state.with_(W=W, lam=mixed.trace[-1].lam), Streams(0)
    )
    close(value, chain.solved.log_evidence, 1e-9, 1e-6)


@pytest.mark.parametrize("stop", [1, 5, 25, 26, 33])
def test_a_chain_that_goes_on_later_is_the_same(stop):
    class Bookmark:
        stored = None

        def load(self):
            return self.stored

        def save(self, run, pack, ended):
            if run.sweep == stop:
                self.stored = type(run)(
                    **{**run.__dict__, "draws": list(run.draws), "trace": list(run.trace)}
                )
                self.stored.link = pack()

    for noise, arithmetic in ((0.3, "mixed"), (1e-5, "double")):
        whole, mark = chained(noise, "mixed"), Bookmark()
        chained(noise, "mixed", bookmark=mark)
        assert mark.stored.sweep == stop
        again = chained(noise, "mixed", bookmark=mark)
        assert again.arithmetic == whole.arithmetic == arithmetic
        for one, other in zip(again.draws, whole.draws, strict=True):
            np.testing.assert_array_equal(one[0], other[0])
            assert one[1] == other[1]


@pytest.mark.parametrize("stages", [(), ((200, 4), (600, 4))])
@pytest.mark.parametrize("beginning", [1, 2, 3])
def test_a_stop_while_rows_are_begun_stores_the_arithmetic_of_what_follows(
    stages, beginning, monkeypatch
):
    """A stage tries single precision anew, and its first look may give it up again."""
    problem, engine, model = case(0.3)
    plan = Plan(8, 2, stages=stages)
    monkeypatch.setattr(
        rounding, "shows", lambda e, m, c, s, number: e.arithmetic == "mixed" and number in (0, 2)
    )

    class Kernel:
        pack, unpack, step = map(staticmethod, (sweep.pack, sweep.unpack, sweep.step))

        def __init__(self, stop=None):
            self.stop, self.begun = stop, 0

        def init(self, *arguments):
            self.begun += 1
            if self.stop and self.begun == beginning:
                self.stop.set()
            return sweep.init(*arguments)

    def run(mark, stop=None):
        found = run_chain(
            engine, model, problem.state, plan, Streams(0), kept, Tuning(), Kernel(stop),
            stop=stop, bookmark=mark,
        )  # fmt: skip
        return [(W.tobytes(), value) for W, value in found.draws], found

    class Mark:
        stored = None

        def load(self):
            return self.stored

        def save(self, run, pack, ended):
            if ended:
                self.stored = type(run)(**{**run.__dict__, "trace": list(run.trace)})
                self.stored.draws, self.stored.link = list(run.draws), pack()

    draws, whole = run(None)
    mark = Mark()
    run(mark, threading.Event())
    again, rest = run(mark)
    assert again == draws
    assert [i.log_evidence for i in rest.trace] == [i.log_evidence for i in whole.trace]
    assert rest.arithmetic == whole.arithmetic


def test_chains_look_often_at_first_and_then_now_and_then():
    due = [done for done in range(101) if rounding.is_due(done)]
    assert due == [0, 1, 2, 4, 8, 16, 25, 50, 75, 100]


def looks(monkeypatch, refused):
    """(arithmetic, sweep) of every look; what `refused` says of one decides."""
    asked = []

    def shows(engine, model, chain, streams, number):
        asked.append((engine.arithmetic, number))
        return engine.arithmetic == "mixed" and refused(number)

    monkeypatch.setattr(rounding, "shows", shows)
    return asked


def test_noise_that_falls_later_is_noticed_later(monkeypatch):
    asked = looks(monkeypatch, lambda number: number >= 4)
    assert chained(0.3, "mixed").arithmetic == "double"
    assert asked[:5] == [("mixed", 0), ("mixed", 1), ("mixed", 2), ("mixed", 4), ("double", 8)]
    # Sampling tries again where it begins, after 30 sweeps.
    assert asked[-5:] == [
        ("double", 25), ("mixed", 30), ("double", 31), ("double", 32), ("double", 34)
    ]  # fmt: skip


def test_what_did_not_do_at_the_start_may_do_later(monkeypatch):
    looks(monkeypatch, lambda number: number < 4)
    found = chained(0.3, "mixed")
    assert found.arithmetic == "mixed"
    for (W, value), (W_double, exact) in zip(
        found.draws, chained(0.3, "double").draws, strict=True
    ):
        np.testing.assert_array_equal(W, W_double)
        assert value != exact


@pytest.mark.parametrize("C", [0, 3])
def test_giving_up_leaves_state_and_weights_as_they_are(C, monkeypatch):
    problem, engine, model = case(0.3)
    if C:
        labels = np.digitize(engine.y, [-0.5, 0.5]).astype(float)
        engine = MemoryEngine(engine.X, labels, arithmetic="mixed")
        model = Model(problem.prior, Logistic(C), "constant")
    seen = {}

    class Kernel:
        init = staticmethod(sweep.init)

        @staticmethod
        def step(chain, engine, model, tuning, streams, number, *rest):
            seen[number] = chain
            after, info = sweep.step(chain, engine, model, tuning, streams, number, *rest)
            seen[-number] = after
            return after, info

    looks(monkeypatch, lambda number: number == 4)
    run_chain(engine, model, problem.state, PLAN, Streams(0), kept, Tuning(), Kernel)
    before, after = seen[-4], seen[5]
    assert before.state is after.state
    assert before.beta is after.beta
    assert (before.gram is after.gram) == bool(C)
    # Sampling tries again after 30 sweeps, from where the chain is.
    before, after = seen[-30], seen[31]
    assert before.state is after.state
    assert before.beta is after.beta
    assert (before.gram is after.gram) == bool(C)
