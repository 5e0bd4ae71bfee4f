"""One of two processes that evaluate together. It prints the results of trainer, rows and metric."""

import json
import sys
import warnings
from pathlib import Path

import tiny_captioner
import torch.distributed as dist
from accelerate import Accelerator
from torch.utils.data import DataLoader

from vlgauge.integrations.accelerate import gather_rows
from vlgauge.integrations.processes import on_first_process
from vlgauge.integrations.torchmetrics import VlgaugeMetric
from vlgauge.integrations.transformers import CaptionEvaluation, GenerationMetrics

warnings.simplefilter("ignore")
folder = Path(sys.argv[1])
rows = tiny_captioner.rows(11)
columns = {"images": "image", "references": "captions"}
words = tiny_captioner.tokenizer()
found = {}
for batch_eval in (False, True):
    metrics = GenerationMetrics(["pac_s", "rouge_l"], tokenizer=words, rows=rows, columns=columns, profile="embedded")
    trainer = tiny_captioner.trainer(folder, rows, metrics, batch_eval=batch_eval)
    numbers = trainer.evaluate()
    found[f"trainer {batch_eval}"] = {key: numbers[key] for key in numbers if "pac_s" in key or "rouge" in key}

evaluation = CaptionEvaluation(
    ["pac_s", "rouge_l"], rows=rows, generate=tiny_captioner.captions_of, columns=columns, profile="embedded"
)
numbers = tiny_captioner.plain_trainer(folder, rows, evaluation).evaluate()
found["plain trainer"] = {key: numbers[key] for key in numbers if "pac_s" in key or "rouge" in key}

repeated = tiny_captioner.rows(3, repeated=3)
for best in ("rouge_l", "trm"):
    metrics = GenerationMetrics(
        ["rouge_l", "trm"], tokenizer=words, rows=repeated, columns={"references": "captions"}, groups="scene"
    )
    trainer = tiny_captioner.trainer(
        folder / best,
        repeated,
        metrics,
        callbacks=[metrics],
        train=repeated,
        num_train_epochs=4,
        learning_rate=0.03,
        **metrics.arguments(best=best),
    )
    trainer.model.generation_config.do_sample = True
    trainer.train()
    scores = {line["step"]: line[f"eval_{best}"] for line in trainer.state.log_history if f"eval_{best}" in line}
    found[f"best {best}"] = [scores, Path(trainer.state.best_model_checkpoint).name]

accelerator = Accelerator(cpu=True)
rank, world = accelerator.process_index, accelerator.num_processes
# A sampler that pads: 5 rows for two processes.
own = [(row, f"caption {row}") for row in ([0, 2, 4], [1, 3, 0])[rank]]
found["gathered"] = gather_rows(own)
found["accelerator"] = gather_rows(own, accelerator)
in_loop = []
for batch in accelerator.prepare(DataLoader(range(5), batch_size=2)):
    in_loop.append(gather_rows([(int(row), "a") for row in batch], accelerator))
found["in a loop"] = in_loop

metric = VlgaugeMetric("rouge_l")
ids, texts = zip(*own, strict=True)
metric.update(ids=ids, predictions=texts, references=[[f"caption {row % 2}"] for row in ids])
found["torchmetrics"] = [metric.compute().item(), metric.scalars()]
# Only the first process has rows. The value of each batch covers all processes.
some = VlgaugeMetric("rouge_l", dist_sync_on_step=True)
if rank == 0:
    some.update(["a dog runs", "a cat"], [["a dog"], ["a cat"]])
found["rows of one"] = some.compute().item()
some.reset()
found["step"] = some([texts[rank]], [[f"caption {2 * rank}"]]).item()


def failing():
    raise ValueError("no such picture")


try:
    on_first_process(failing)
except Exception as error:
    found["error"] = f"{type(error).__name__}: {error}"
(folder / f"{rank}.json").write_text(json.dumps(found))
dist.barrier()
dist.destroy_process_group()
