"""Cases of this metric for the tests of all metrics."""

from apart_cases import SAMPLED, sets
from signature_cases import vector_changes

APART = {"": (SAMPLED, sets)}

changes = vector_changes


def named(files):
    return {"encoder": f"bow:{files.text('words.txt', 'dog')}"}
