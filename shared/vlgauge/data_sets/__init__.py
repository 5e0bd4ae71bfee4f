"""Data sets of the Hub, read by a child process that asks for what it needs: no row, card or file is opened here."""
