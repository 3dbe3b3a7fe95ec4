"""One module for each command of `linkwise`."""
