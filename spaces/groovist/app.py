"""The Space of groovist: what `vlgauge workbench --metric groovist` shows."""

from vlgauge import workbench

demo = workbench.app("groovist")
if __name__ == "__main__":
    workbench.launch(demo)
