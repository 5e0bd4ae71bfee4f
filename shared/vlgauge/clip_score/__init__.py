"""The arithmetic of CLIP-S and PAC-S: scores of images and of videos, word weights, long captions."""
