"""Training recipe of RoViST-VG: readers of (region, phrase) pairs, loss, model, epochs, and output files."""
