"""Errors to plant: each is one change of one file, with the tests that should see it."""

from __future__ import annotations

from typing import NamedTuple


class Mutant(NamedTuple):
    """Replace `old`, which occurs once in `file`, by `new`; run `tests`."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


EVIDENCE = ("tests/model/test_evidence.py",)
NIW = ("tests/model/test_niw.py",)
CONDITIONALS = ("tests/sampler/test_conditionals.py",)
CRP = ("tests/sampler/test_assignments.py",)
ACCEPT = ("tests/sampler/test_accept.py",)
PROPOSALS = ("tests/sampler/test_frequencies.py",)
GRADIENT = ("tests/sampler/test_gradient.py",)
SWEEP = ("tests/sampler/test_sweep.py",)
CLASS_SWEEP = ("tests/sampler/test_classification_sweep.py",)
JOINT = ("tests/sampler/test_joint_move.py",)
LOGISTIC = ("tests/likelihoods/test_logistic.py",)
RUN = ("tests/sampler/test_run.py",)
INTERWEAVE = ("tests/sampler/test_interweave.py",)
INTERWEAVE_PATH = ("tests/sampler/test_interweave_path.py",)
RESCALE = ("tests/sampler/test_rescale.py",)
PREDICT = ("tests/posterior/test_predict.py",)

MUTANTS = (
    Mutant(
        "evidence without its log determinant",
        "model/evidence.py",
        "        + 0.5 * solution.log_det_ratio\n",
        "",
        EVIDENCE,
    ),
    Mutant(
        "augmented evidence without its log determinant",
        "model/evidence.py",
        "0.5 * (solution.log_det_ratio + solution.quadratic)",
        "0.5 * solution.quadratic",
        EVIDENCE,
    ),
    Mutant(
        "n for n/2 in the shape of the noise",
        "model/evidence.py",
        "a_n = a0 + 0.5 * n\n",
        "a_n = a0 + n\n",
        EVIDENCE,
    ),
    Mutant(
        "half forgotten in the rate of the noise",
        "model/evidence.py",
        "max(0.5 * (tt - solution.quadratic), 0.0)",
        "max(tt - solution.quadratic, 0.0)",
        EVIDENCE,
    ),
    Mutant(
        "features without 1/sqrt(M)",
        "model/features.py",
        "1.0 / np.sqrt(M) if scale is None else scale",
        "1.0 if scale is None else scale",
        ("tests/model/test_kernel.py",),
    ),
    Mutant(
        "Sigma for its inverse in the law of psi",
        "sampler/scales.py",
        "np.diagonal(np.linalg.inv(state.Sigma), axis1=1, axis2=2)",
        "np.diagonal(state.Sigma, axis1=1, axis2=2)",
        CONDITIONALS,
    ),
    Mutant(
        "a Wishart draw for an inverse Wishart one",
        "model/niw.py",
        "B = solve_lower(T, cholesky(law.Psi).T).T",
        "B = cholesky(law.Psi) @ T",
        NIW + CONDITIONALS,
    ),
    Mutant(
        "components that do not count their members",
        "model/niw.py",
        "kappa, Psi, base.nu + m)",
        "kappa, Psi, base.nu)",
        NIW + CONDITIONALS,
    ),
    Mutant(
        "distance to the prior mean weighed wrongly",
        "model/niw.py",
        "(base.kappa * m / kappa) * np.outer",
        "(base.kappa * m) * np.outer",
        NIW + CONDITIONALS,
    ),
    Mutant(
        "uncertain mean forgotten in the predictive law",
        "model/niw.py",
        "(law.kappa + 1) / (law.kappa * dof)",
        "1 / dof",
        NIW + CONDITIONALS,
    ),
    Mutant(
        "Gamma(m + 1) for Gamma(m) in the restaurant process",
        "model/dirichlet_process.py",
        "gammaln(m).sum()",
        "gammaln(m + 1.0).sum()",
        ("tests/model/test_dirichlet_process.py",),
    ),
    Mutant(
        "a frequency that is not removed from its component",
        "numerics/_compiled.py",
        "counts[Z[j]] -= 1",
        "counts[Z[j]] -= 0",
        CRP,
    ),
    Mutant(
        "new components without alpha",
        "numerics/_compiled.py",
        "top = log_alpha + log_new[j]",
        "top = log_new[j]",
        CRP,
    ),
    Mutant(
        "a new component from the prior, not given its member",
        "sampler/assignments.py",
        "fresh = niw.draw(niw.posterior(base, W[j : j + 1]), rng)",
        "fresh = niw.draw(base, rng)",
        CRP,
    ),
    Mutant(
        "M forgotten in the odds of alpha",
        "sampler/concentration.py",
        "odds = shape / (M * rate)",
        "odds = shape / rate",
        CONDITIONALS,
    ),
    Mutant(
        "alpha + M for alpha + 1 in the beta variable",
        "sampler/concentration.py",
        "rng.beta(state.alpha + 1.0, M)",
        "rng.beta(state.alpha, M)",
        CONDITIONALS,
    ),
    Mutant(
        "lam without its prior",
        "sampler/precision.py",
        "return solved.log_evidence + prior.log_lam(solved.lam)",
        "return solved.log_evidence",
        CONDITIONALS,
    ),
    Mutant(
        "lam always accepted",
        "sampler/precision.py",
        "(new if log_u < log_ratio else now)",
        "(new if np.isfinite(log_u) else now)",
        CONDITIONALS,
    ),
    Mutant(
        "local moves around zero, not around the component",
        "sampler/frequencies.py",
        "centre + keep * (state.W - centre)",
        "centre + keep * state.W",
        PROPOSALS,
    ),
    Mutant(
        "local moves that shrink too much",
        "sampler/frequencies.py",
        "np.sqrt(np.maximum(1.0 - rho**2, 0.0))",
        "np.maximum(1.0 - rho, 0.0)",
        PROPOSALS,
    ),
    Mutant(
        "proposals with the transposed factor",
        "sampler/frequencies.py",
        "xi[members] @ cholesky(Sigma).T",
        "xi[members] @ cholesky(Sigma)",
        PROPOSALS,
    ),
    Mutant(
        "degrees of freedom forgotten in the accept step",
        "numerics/_accept.py",
        "total -= a_n * math.log(left)",
        "total -= math.log(left)",
        ACCEPT,
    ),
    Mutant(
        "decisions that do not see earlier ones (large)",
        "numerics/_accept.py",
        "drop[2 * j] = o + 4 * j + (2 if accepted[j] else 0)",
        "drop[2 * j] = o + 4 * j",
        ACCEPT,
    ),
    Mutant(
        "decisions that do not see earlier ones (small)",
        "numerics/_accept.py",
        "offset = 2 if (side == 1 and accepted[i]) else 0",
        "offset = 0",
        ACCEPT,
    ),
    Mutant(
        "eliminated columns that explain nothing",
        "numerics/_accept.py",
        "left = rest + 0.5 * (S[t, last, last] - quad)",
        "left = rest - 0.5 * quad",
        ACCEPT,
    ),
    Mutant(
        "halves that are decided without the other half eliminated",
        "sampler/halving.py",
        "    subtract_inner(C[:kept, :kept], B[:, :kept])\n",
        "",
        ACCEPT,
    ),
    Mutant(
        "a factor that belongs to the columns before the decisions",
        "numerics/_accept.py",
        "row = o + 4 * (j // 2) + (2 if accepted[j // 2] else 0) + j % 2",
        "row = o + 4 * (j // 2) + j % 2",
        ACCEPT + SWEEP,
    ),
    Mutant(
        "a stale statistic after accepted proposals",
        "sampler/sweep.py",
        "gram = ext.select(extended_columns(h, M, accepted))",
        "gram = ext.select(extended_columns(h, M, np.zeros(M, dtype=bool)))",
        SWEEP,
    ),
    Mutant(
        "weights that are not drawn again",
        "sampler/sweep.py",
        "likelihood.draw_weights(gram, solved.solutions, streams.at(Purpose.WEIGHTS, sweep))",
        "chain.beta",
        CLASS_SWEEP,
    ),
    Mutant(
        "weights at their mean, not drawn",
        "likelihoods/logistic.py",
        "s.mu_n + solve_lower_transposed(s.L, rng.standard_normal((len(s.v), 1)))[:, 0]",
        "s.mu_n",
        LOGISTIC + CLASS_SWEEP,
    ),
    Mutant(
        "one random stream for proposals and decisions",
        "sampler/sweep.py",
        "log_u = np.log(streams.at(Purpose.ACCEPT, sweep).random(M))",
        "log_u = np.log(streams.at(Purpose.PROPOSALS, sweep).random(M))",
        CLASS_SWEEP,
    ),
    Mutant(
        "one random stream for all blocks of rows",
        "likelihoods/logistic.py",
        "(block.start + cell) * self.tasks + t)",
        "t)",
        LOGISTIC,
    ),
    Mutant(
        "one random stream for all chains",
        "numerics/streams.py",
        "np.array([self.seed, self.chain]",
        "np.array([self.seed, 0]",
        ("tests/numerics/test_streams.py",),
    ),
    Mutant(
        "Polya-Gamma targets without the half",
        "likelihoods/logistic.py",
        "shape * (view.label - 0.5)",
        "shape * view.label",
        LOGISTIC,
    ),
    Mutant(
        "every task sees every row",
        "likelihoods/logistic.py",
        "rows = np.flatnonzero(block.y >= t)",
        "rows = np.flatnonzero(block.y >= 0)",
        LOGISTIC,
    ),
    Mutant(
        "the wrong sign of the old Laplace density",
        "sampler/joint_move.py",
        "- old.log_target + old.log_proposal",
        "- old.log_target - old.log_proposal",
        JOINT,
    ),
    Mutant(
        "a Laplace density without its determinant",
        "sampler/joint_move.py",
        "log_q = math.log(l00) + math.log(l11) - 0.5",
        "log_q = -0.5",
        JOINT,
    ),
    Mutant(
        "a linear predictor that is not carried on",
        "sampler/joint_move.py",
        "F = [o + b @ c for o, b, c in zip(offsets, b_star, cols_star, strict=True)]",
        "pass",
        JOINT,
    ),
    Mutant(
        "lam given the weights without its power",
        "sampler/joint_move.py",
        "0.5 * beta.size * math.log(lam) - 0.5 * lam",
        "-0.5 * lam",
        JOINT,
    ),
    Mutant(
        "the gradient with the wrong sign",
        "numerics/_compiled.py",
        "g[i] += c[i] * g_sin - s[i] * g_cos",
        "g[i] -= c[i] * g_sin - s[i] * g_cos",
        GRADIENT,
    ),
    Mutant(
        "an energy without the prior's part",
        "sampler/gradient.py",
        "0.5 * float((point.V**2).sum() + (q**2).sum())",
        "0.5 * float((q**2).sum())",
        GRADIENT,
    ),
    Mutant(
        "a rotation that is none",
        "sampler/gradient.py",
        "c * q - s * V",
        "c * q + s * V",
        GRADIENT,
    ),
    Mutant(
        "a Hamiltonian move that is always accepted",
        "sampler/gradient.py",
        "    if log_u < log_ratio:\n",
        "    if log_u < np.inf:\n",
        SWEEP,
    ),
    Mutant(
        "a component moved without the Jacobian of its covariance",
        "sampler/interweave.py",
        "        + (d + 1) * log_D\n",
        "",
        INTERWEAVE,
    ),
    Mutant(
        "a stretch that forgets the Jacobian of the means",
        "sampler/interweave.py",
        "powers = state.K * (d + 2)",
        "powers = state.K * (d + 1)",
        INTERWEAVE,
    ),
    Mutant(
        "members that keep the shape of the component they leave",
        "sampler/interweave.py",
        "V.T @ cholesky(state.Sigma[target]).T",
        "V.T @ cholesky(state.Sigma[source]).T",
        INTERWEAVE,
    ),
    Mutant(
        "switches that count every component once too often",
        "sampler/switch.py",
        "draw_shares(m, state.alpha, rng)",
        "draw_shares(m + 1.0, state.alpha, rng)",
        ("tests/sampler/test_switch.py",),
    ),
    Mutant(
        "Polya-Gamma variables drawn again along a trajectory",
        "sampler/sweep.py",
        "working = engine.freeze(working, state.W, model.trend)",
        "working = working",
        CLASS_SWEEP,
    ),
    Mutant(
        "a step size that is adapted after warm-up",
        "sampler/run.py",
        "        info = advance(engine)\n",
        "        info = advance(engine)\n        run.tuning = adapt(run.tuning, info, run.sweep)\n",
        RUN,
    ),
    Mutant(
        "sampling that goes on with the subsample of warm-up",
        "sampler/run.py",
        "chain is None or stages[-1][0] != engine.n_rows or",
        "chain is None or",
        RUN,
    ),
    Mutant(
        "weighted rows that count once",
        "likelihoods/gaussian.py",
        "float(y @ (w * y)), float(w.sum()))",
        "float(y @ (w * y)), float(len(w)))",
        ("tests/gram/test_gram.py", "tests/estimators/test_regressor_inputs.py"),
    ),
    Mutant(
        "merged rows that lose their weight",
        "numerics/duplicates.py",
        "np.add.reduceat(w, start)",
        "w[start]",
        ("tests/numerics/test_duplicates.py",),
    ),
    Mutant(
        "half the degrees of freedom in predictions",
        "posterior/draws.py",
        "rng, b_n / a_n, 2.0 * a_n, root)",
        "rng, b_n / a_n, a_n, root)",
        PREDICT,
    ),
    Mutant(
        "predictions without the noise",
        "posterior/predict.py",
        "((1.0 if observed else 0.0) + spread[0])",
        "spread[0]",
        PREDICT,
    ),
    Mutant(
        "a sketch of the covariance that is too wide",
        "posterior/draws.py",
        "rng.standard_normal((P, columns)) / np.sqrt(columns)",
        "rng.standard_normal((P, columns))",
        PREDICT,
    ),
    Mutant(
        "no mass for components not yet seen",
        "model/dirichlet_process.py",
        "np.append(rng.gamma(m), rng.gamma(alpha))",
        "np.append(rng.gamma(m), 0.0)",
        ("tests/posterior",),
    ),
    Mutant(
        "a jitter that nobody hears of",
        "numerics/linalg.py",
        "            count.record(jitter)",
        "            pass",
        ("tests/numerics/test_linalg.py",),
    ),
    Mutant(
        "components walk without their prior ratio",
        "sampler/interweave.py",
        "        log_ratio += new_solved.log_evidence - solved.log_evidence\n",
        "        log_ratio = new_solved.log_evidence - solved.log_evidence\n",
        INTERWEAVE_PATH,
    ),
    Mutant(
        "an accepted walk keeps the old factors",
        "sampler/interweave.py",
        "            state, gram, solved = new, new_gram, new_solved\n",
        "            state, gram = new, new_gram\n",
        INTERWEAVE_PATH,
    ),
    Mutant(
        "Polya-Gamma weights redrawn between a state and its walk",
        "sampler/sweep.py",
        "    if (use_gradient or use_interweave) and not likelihood.fixed_weights:\n",
        "    if use_gradient and not likelihood.fixed_weights:\n",
        INTERWEAVE_PATH,
    ),
    Mutant(
        "a stretch counts the Jacobian of a fixed psi",
        "sampler/interweave.py",
        "(0 if prior.psi_shape is None else 2)",
        "2",
        INTERWEAVE,
    ),
    Mutant(
        "rescaled weights that keep their lam",
        "sampler/rescale.py",
        "return state.with_(lam=state.lam * float(np.exp(-2.0 * chosen))), beta",
        "return state, beta",
        RESCALE,
    ),
    Mutant(
        "lam rescaled by the factor, not by its square",
        "sampler/rescale.py",
        "float(np.exp(-2.0 * chosen))",
        "float(np.exp(-chosen))",
        RESCALE,
    ),
    Mutant(
        "a rescaling that looks one way only",
        "sampler/rescale.py",
        "np.arange(POINTS) - rng.integers(POINTS)",
        "np.arange(POINTS)",
        RESCALE,
    ),
    Mutant(
        "a rescaling that likes some places of the lattice better",
        "sampler/rescale.py",
        "rng.integers(POINTS)",
        "rng.binomial(POINTS - 1, 0.5)",
        RESCALE,
    ),
    Mutant(
        "a rescaling without the prior of lam",
        "sampler/rescale.py",
        "prior.log_lam(v) if 0.0 < v < np.inf",
        "0.0 if 0.0 < v < np.inf",
        RESCALE,
    ),
    Mutant(
        "a rescaling that counts its Jacobian twice",
        "sampler/rescale.py",
        "law = log_law(log_c, values, state.lam, prior)",
        "law = log_law(log_c, values + beta.size * log_c, state.lam, prior)",
        RESCALE,
    ),
    Mutant(
        "a rescaling by the likelihood of the weights as they are",
        "likelihoods/logistic.py",
        "v._replace(f=c * v.f)",
        "v._replace(f=v.f)",
        RESCALE,
    ),
    Mutant(
        "a rescaling that forgets row weights",
        "likelihoods/logistic.py",
        "v._replace(f=c * v.f)",
        "v._replace(f=c * v.f, weight=None)",
        RESCALE,
    ),
    Mutant(
        "factors of a resumed chain at the rescaled lam",
        "sampler/sweep.py",
        'precision.solve(gram, packed["lam"],',
        "precision.solve(gram, state.lam,",
        ("tests/storage/test_resume_chain.py",),
    ),
    Mutant(
        "a draw with the rescaled lam and the factors before",
        "posterior/draws.py",
        "lam=chain.solved.lam",
        "lam=chain.state.lam",
        RESCALE,
    ),
)
