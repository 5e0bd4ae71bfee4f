"""
Metrics during training
=======================

A tiny captioner of synthetic scenes is trained with ``Seq2SeqTrainer``. After each epoch it generates captions of
held-out images, which are scored. PAC-S uses the demo CLIP of the embedded profile.
"""

import argparse
import sys
import tempfile
import warnings
from pathlib import Path

sys.path.insert(0, "..")
import train_captioner
from transformers.utils import logging

from vlgauge.api.figures import training_figure

logging.set_verbosity_error()
logging.disable_progress_bar()
warnings.filterwarnings("ignore")  # captions of untrained weights are often undefined
with tempfile.TemporaryDirectory() as folder:
    options = argparse.Namespace(smoke=True, epochs=6, best="pac_s", seed=0)
    trainer, _ = train_captioner.train(options, Path(folder))

training_figure(trainer.state.log_history, ["pac_s", "trm", "cider"])

# %%
# This run is shortened to a few images and epochs. ``python examples/train_captioner.py`` is the complete run.
