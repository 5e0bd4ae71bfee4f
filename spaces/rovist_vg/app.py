"""The Space of rovist_vg: what `vlgauge workbench --metric rovist_vg` shows."""

from vlgauge import workbench

demo = workbench.app("rovist_vg")
if __name__ == "__main__":
    workbench.launch(demo)
