"""Parts of train_pac_s.py: rows, batches, losses, what is trained, the loop, evaluation, and the files it writes."""
