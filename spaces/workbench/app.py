"""The Space of all metrics: what `vlgauge workbench` shows."""

from vlgauge import workbench

demo = workbench.app()
if __name__ == "__main__":
    workbench.launch(demo)
