"""The Space of d_hm: what `vlgauge workbench --metric d_hm` shows."""

from vlgauge import workbench

demo = workbench.app("d_hm")
if __name__ == "__main__":
    workbench.launch(demo)
