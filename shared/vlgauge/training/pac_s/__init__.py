"""The recipe of PAC-S: rows, batches, losses, what is trained, rounds of it, evaluation, and the files it writes."""
