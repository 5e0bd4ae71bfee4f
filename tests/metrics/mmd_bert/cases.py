"""Cases of this metric for the tests of all metrics."""

import numpy as np
from signature_cases import lengths, vector_changes


def changes(files):
    return {
        **vector_changes(files),
        "variant": ({"encoder": lengths}, {"encoder": lengths, "variant": "released"}),
        "estimator": ({"encoder": lengths}, {"encoder": lengths, "estimator": "biased"}),
        "bandwidth": ({"encoder": lengths}, {"encoder": lengths, "bandwidth": np.float32(0.5)}),
    }


def named(files):
    return {"encoder": f"vectors:{files.vectors(0, width=3)}", "pvalue": "monte_carlo"}
