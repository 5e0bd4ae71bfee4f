"""Parts of train_demo_clip.py: images and texts, their codes, the training, and the figures."""
