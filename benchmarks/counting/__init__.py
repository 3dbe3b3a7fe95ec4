"""What `operation_counts.py` counts, and the sections of the page that it writes."""
