"""What the size of a number may be: of a training value, and of an option."""

#: Beyond this a training value is refused: differences and small multiples of such numbers are
#: no longer numbers. The largest 64-bit number is 1.8e308.
LARGEST = 1e307
#: What to say then, after the value and its place.
ADVICE = (
    f"Numbers beyond {LARGEST:g} overflow when they are compared: give them in a larger unit, or "
    "remove such rows."
)

#: Hyper-parameters lie between these: squares, ratios and powers of them in one formula stay
#: numbers, and no prior that somebody means is beyond.
SMALLEST_OPTION, LARGEST_OPTION = 1e-30, 1e30
#: Degrees of freedom of an inverse Wishart law above d - 1: with fewer, draws overflow.
SPARE_FREEDOM = 0.5
#: One Gram matrix of so many frequencies takes 128 GiB.
MOST_FREQUENCIES = 2**16
#: Chains are threads or tasks of a cluster, and each keeps a state.
MOST_CHAINS = 4096
#: Sweeps, draws, iterations, rows of a search: whatever else is counted.
MOST = 10**9
#: Thirty years.
MOST_SECONDS = 1e9
#: What NumPy's RandomState takes.
MOST_SEED = 2**32 - 1
