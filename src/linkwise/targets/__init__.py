"""The machines that programs run on: each owns its text, its loading, its calls, its solvers and its rollouts."""
