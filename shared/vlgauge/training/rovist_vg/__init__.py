"""The recipe of RoViST-VG: readers of (region, phrase) pairs, the loss, the model, epochs, and the files it writes."""
