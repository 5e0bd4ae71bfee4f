"""The Space of meteor: what `vlgauge workbench --metric meteor` shows."""

from vlgauge import workbench

demo = workbench.app("meteor")
if __name__ == "__main__":
    workbench.launch(demo)
