"""Where the robots of the library come from, and how their files are made."""
