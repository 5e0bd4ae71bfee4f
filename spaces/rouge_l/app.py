"""The Space of rouge_l: what `vlgauge workbench --metric rouge_l` shows."""

from vlgauge import workbench

demo = workbench.app("rouge_l")
if __name__ == "__main__":
    workbench.launch(demo)
