r"""The model of the paper, every equation as a small pure function, and nothing else.

Generative model (Oliva et al., 2016, section 2.2), as implemented:

1. alpha ~ Gamma(alpha_shape, alpha_rate); Z ~ CRP(alpha) (mixture weights pi integrated out).
2. psi_i ~ Gamma(psi_shape, psi_rate_i), Psi0 = diag(psi) (fixed in the paper);
   Sigma_k ~ W^-1(Psi0, nu0), mu_k ~ N(mu0, Sigma_k / kappa0).
3. W_j ~ N(mu_{Z_j}, Sigma_{Z_j}), j = 1..M.
4. log lam ~ N(lam_log_mean, lam_log_sd^2); noise ~ InverseGamma(a0, b0);
   beta | noise ~ N(0, noise / lam I).
5. Y_i ~ N(phi(X_i)' beta, noise); a row of weight w counts as w such rows.
   For classification noise = 1 in step 4 and Y_i ~ Bernoulli(sigmoid(phi(X_i)' beta)); more than
   two classes are told apart by a tree of such decisions (:mod:`.class_tree`).

========================  ====================  ===============================================
on paper                  in code               meaning
========================  ====================  ===============================================
phi(x)                    ``Phi``               2M random Fourier features, then trend columns
omega_j, W_j              ``W`` (M, d)          frequencies
Z_j                       ``Z`` (M,)            component of each frequency
mu_k, Sigma_k             ``mu``, ``Sigma``     mean and covariance of a spectral component
alpha                     ``alpha``             concentration of the Dirichlet process
Psi_0, nu_0, mu_0, kap_0  ``psi``, ``nu0``...   normal-inverse-Wishart base measure
beta                      ``beta``              weights of the features
sigma_epsilon             ``noise``             noise variance
1 / sigma^2               ``lam``               prior precision of the weights over the noise's
a_0, b_0, a_n, b_n        ``a0``...``b_n``      inverse-gamma law of the noise, prior, posterior
Lambda_n, mu_n            ``A``, ``mu_n``       posterior precision (times noise), mean of beta
========================  ====================  ===============================================

Departures from the paper:

- Columns of Phi are interleaved (cos_1, sin_1, cos_2, ...), so that a frequency owns two
  neighbours; the kernel is the same.
- beta | noise has variance noise / lam, not sigma: this is what makes eq. modev_int exact.
- mu_beta = 0.
- alpha, lam and the diagonal of Psi0 have priors and are sampled; fixing psi gives the paper's
  base measure.
- Trend columns (a constant, and the scaled inputs unless switched off) stand beside the
  random features, with the same prior.
- A row of weight w counts as w rows.

Each function that implements an equation of the paper names it with :func:`equation`.
"""

from banklearn.model.equations import EQUATIONS, equation

__all__ = ["EQUATIONS", "equation"]
