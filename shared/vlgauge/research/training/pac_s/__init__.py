"""Training recipe of PAC-S: rows, batches, losses, learners, rounds, evaluation, and output files."""
