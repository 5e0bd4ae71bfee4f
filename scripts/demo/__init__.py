"""The demo: the examples of every metric, scored, and the report that shows how each metric reacts to them."""
