"""Downloads of the files that metrics need."""
