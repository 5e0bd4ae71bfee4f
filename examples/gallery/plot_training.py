"""
Watch a training
================

A tiny captioner of drawn scenes is trained for some epochs with ``Seq2SeqTrainer``; after each it draws captions of
held-out pictures, which are scored. PAC-S is that of the **toy** CLIP: no published number.
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
warnings.filterwarnings("ignore")  # random weights say nothing at first
with tempfile.TemporaryDirectory() as folder:
    options = argparse.Namespace(smoke=True, epochs=6, best="pac_s", seed=0)
    trainer, _ = train_captioner.train(options, Path(folder))

training_figure(trainer.state.log_history, ["pac_s", "trm", "cider"])

# %%
# A training of some pictures and epochs says little. ``python examples/train_captioner.py`` is the whole one.
