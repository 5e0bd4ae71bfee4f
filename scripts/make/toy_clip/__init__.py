"""Parts of train_toy_clip.py: images and texts, their codes, the training, and the figures."""
