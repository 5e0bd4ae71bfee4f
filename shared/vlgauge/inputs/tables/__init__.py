"""Tables of rows: their files, and the layouts of caption files."""
