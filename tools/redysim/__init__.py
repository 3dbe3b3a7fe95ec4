"""ReDySim's input files, read as data and written as TOML tables."""
