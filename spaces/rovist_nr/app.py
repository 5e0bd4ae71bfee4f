"""The Space of rovist_nr: what `vlgauge workbench --metric rovist_nr` shows."""

from vlgauge import workbench

demo = workbench.app("rovist_nr")
if __name__ == "__main__":
    workbench.launch(demo)
