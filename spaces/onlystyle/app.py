"""The Space of onlystyle: what `vlgauge workbench --metric onlystyle` shows."""

from vlgauge import workbench

demo = workbench.app("onlystyle")
if __name__ == "__main__":
    workbench.launch(demo)
