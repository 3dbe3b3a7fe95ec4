"""Results of budgets: arrays of terms with labels, shown as tables, plots and sentences."""
