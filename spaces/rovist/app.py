"""The Space of rovist: what `vlgauge workbench --metric rovist` shows."""

from vlgauge import workbench

demo = workbench.app("rovist")
if __name__ == "__main__":
    workbench.launch(demo)
