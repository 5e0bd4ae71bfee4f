"""Cases of this metric for the tests of all metrics."""

from apart_cases import styled
from signature_cases import style_changes

APART = {"": ({"top_k": 2, "return_style_matrix": True}, styled)}


def changes(files):
    orders = {"config_name": "demo"}, {"config_name": "demo", "orders": "four"}
    return {**style_changes(files), "orders": orders}


def named(files):
    files.table("a dog", "a cat").save("style.parquet")
    return {"table": "style.parquet"}
