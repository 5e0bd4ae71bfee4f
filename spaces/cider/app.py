"""The Space of cider: what `vlgauge workbench --metric cider` shows."""

from vlgauge import workbench

demo = workbench.app("cider")
if __name__ == "__main__":
    workbench.launch(demo)
