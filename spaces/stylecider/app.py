"""The Space of stylecider: what `vlgauge workbench --metric stylecider` shows."""

from vlgauge import workbench

demo = workbench.app("stylecider")
if __name__ == "__main__":
    workbench.launch(demo)
