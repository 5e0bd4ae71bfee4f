"""At most three classes of the package are between a metric and `evaluate.Metric`: family, Metric, the adapter."""

import evaluate
import pytest

import vlgauge
from vlgauge.core.catalog import metric_names

# Metrics that still have more. Remove a name with the class that is one too many.
MORE: set[str] = set()


@pytest.mark.parametrize("name", metric_names())
def test_a_metric_has_three_base_classes(name):
    cls = type(vlgauge.load(name, keep_in_memory=True))
    own = [base for base in cls.__mro__[1:] if issubclass(base, evaluate.Metric) and base is not evaluate.Metric]
    mixed_in = [base for base in cls.__mro__[1:] if base.__module__.startswith("vlgauge") and base not in own]
    assert [base.__name__ for base in mixed_in] == []
    assert (len(own) > 3) == (name in MORE), [base.__name__ for base in own]
