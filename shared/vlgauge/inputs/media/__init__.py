"""Images, videos and tables of rows."""
