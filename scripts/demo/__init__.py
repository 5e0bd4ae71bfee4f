"""The demo: the bundled examples scored by every metric, and the report that shows how each reacts to them."""
