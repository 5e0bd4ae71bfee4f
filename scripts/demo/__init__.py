"""Demo: scored examples of every metric, and a report that shows the reaction of each metric to them."""
