"""Check of a claim about a synthetic scene against a scene."""

from itertools import permutations

from vlgauge.scenes.content import OPPOSITES


def true_of(claim, scene):
    """Return whether the scene contains everything that is claimed. It may contain more."""
    if claim.background not in (None, scene.background):
        return False
    for order in permutations(range(len(scene.objects)), len(claim.mentions)):
        things = [scene.objects[index] for index in order]
        fits = all(_fits(mention, thing) for mention, thing in zip(claim.mentions, things, strict=True))
        seen = scene.relation if order[:1] == (0,) else OPPOSITES.get(scene.relation or "")
        if fits and claim.relation in (None, seen):
            return True
    return False


def _fits(mention, thing):
    pairs = ((mention.shape, thing.shape), (mention.colour, thing.colour), (mention.size, thing.size))
    return all(said in (None, seen) for said, seen in pairs)
