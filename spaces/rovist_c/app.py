"""The Space of rovist_c: what `vlgauge workbench --metric rovist_c` shows."""

from vlgauge import workbench

demo = workbench.app("rovist_c")
if __name__ == "__main__":
    workbench.launch(demo)
