"""What `train_rovist_vg.py` is made of: readers of (region, phrase) pairs, the loss, the loop, the report."""
