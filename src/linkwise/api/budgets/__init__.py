"""Budgets: the terms of torques as arrays with labels, shown as tables, plots and sentences."""
