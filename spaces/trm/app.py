"""The Space of trm: what `vlgauge workbench --metric trm` shows."""

from vlgauge import workbench

demo = workbench.app("trm")
if __name__ == "__main__":
    workbench.launch(demo)
