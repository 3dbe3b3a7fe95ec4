"""C99: functions on plain arrays, their names, their self-tests."""
