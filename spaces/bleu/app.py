"""The Space of bleu: what `vlgauge workbench --metric bleu` shows."""

from vlgauge import workbench

demo = workbench.app("bleu")
if __name__ == "__main__":
    workbench.launch(demo)
