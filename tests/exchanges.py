"""Exchange of frequencies as it is described: every evidence computed anew."""

import numpy as np


def groups(M, largest=24):
    """Ranges of places that are decided together: halves, until they are small."""
    if largest >= M:
        return [range(M)]
    half = M // 2
    first = groups(half, largest)
    return first + [range(g.start + half, g.stop + half) for g in groups(M - half, largest)]


def exchanged(log_evidence, M, rng, largest=24):
    """What each place holds: log_evidence is a function of such a list of M numbers.

    j < M stands for a frequency in use at the start, M + c for candidate c. Places begin in an
    order that is drawn.
    """
    order, u, log_u = rng.permutation(M), rng.random(M), np.log(rng.random(M))
    holds = [int(j) for j in order]
    for group in groups(M, largest):
        for c in group:
            trials = []
            for place in group:
                trial = list(holds)
                trial[place] = M + c
                trials.append(trial)
            now = log_evidence(holds)
            values = np.array([log_evidence(trial) for trial in trials])
            weights = np.exp(values - values.max())
            i = min(np.searchsorted(weights.cumsum(), u[c] * weights.sum(), "right"), len(group))
            # (1 - p_now) / (1 - p_i) for the probabilities p of staying and of every trial.
            every = np.append(values, now)
            left = np.logaddexp.reduce(np.delete(every, i))
            if log_u[c] < np.logaddexp.reduce(values) - left:
                holds = trials[i]
    return holds
