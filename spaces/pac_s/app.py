"""The Space of pac_s: what `vlgauge workbench --metric pac_s` shows."""

from vlgauge import workbench

demo = workbench.app("pac_s")
if __name__ == "__main__":
    workbench.launch(demo)
