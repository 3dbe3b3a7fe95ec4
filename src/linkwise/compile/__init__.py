"""From assembly text to functions that are called from Python. Nothing here knows of robots or algebra."""
