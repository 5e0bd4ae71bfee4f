"""Parts of train_toy_clip.py: pictures and texts, their codes, the training, the figures."""
