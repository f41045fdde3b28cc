"""Prints N bytes of words: compressible, and the same each time."""

import random
import sys

wanted = int(sys.argv[1])
source = random.Random(1)
letters = "etaoinshrdlucmfwypvbgk"
words = ["".join(source.choices(letters, k=source.randint(2, 9))) for _ in range(4000)]
weights = [1 / (rank + 3) for rank in range(len(words))]
text = " ".join(source.choices(words, weights, k=100_000))
sys.stdout.write((text * (wanted // len(text) + 1))[:wanted])
