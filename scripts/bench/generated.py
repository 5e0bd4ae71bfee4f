"""Captions for benchmarks, generated from few parts, so that they share words, stems and synonyms."""

import random

Caption = list[str]

# Words with common stems and synonyms, as in captions of one image.
PEOPLE = "man|woman|person|boy|little boy|young girl|child|group of people|two men|several women|skateboarder|rider"
DOING = "riding|rides|standing on|sitting on|sits near|holding|looking at|watching|is pulling|carries|walks beside"
THINGS = "bike|bicycle|motorcycle|horse|couch|sofa|large dog|dogs|car|truck|red automobile|skateboard|boat|wooden bench"
PLACES = "down the street|on a road|in the park|at the beach|near the ocean|in a big field|by some trees|in the snow"
ARTICLES = ("a", "the", "one")
EXTRAS = "|at night|in the background|while others watch|wearing a hat|next to a building|with his friends"


def generate_captions(n_examples: int, n_captions: int, seed: int = 0) -> list[list[Caption]]:
    """Generate captions as lists of tokens. Captions of an example share some of their parts."""
    rng = random.Random(seed)

    def caption(parts: list[list[str]]) -> Caption:
        who, does, what, where, extra = map(rng.choice, parts)
        return f"{rng.choice(ARTICLES)} {who} {does} {rng.choice(ARTICLES)} {what} {where} {extra}".split()

    examples = []
    for _ in range(n_examples):
        parts = [rng.sample(options.split("|"), 4) for options in (PEOPLE, DOING, THINGS, PLACES, EXTRAS)]
        examples.append([caption(parts) for _ in range(n_captions)])
    return examples
