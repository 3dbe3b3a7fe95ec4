"""Programs as LaTeX, in closed form or with named intermediates."""
