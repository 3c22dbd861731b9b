"""What the size of a number may be."""

#: Beyond this a training value is refused: differences and small multiples of such numbers are
#: no longer numbers. The largest 64-bit number is 1.8e308.
LARGEST = 1e307
#: What to say then, after the value and its place.
ADVICE = (
    f"Numbers beyond {LARGEST:g} overflow when they are compared: give them in a larger unit, or "
    "remove such rows."
)
