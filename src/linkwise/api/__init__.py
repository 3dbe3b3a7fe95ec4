"""The public functions: arrays of any batch shape in, checked; arrays out. `linkwise` itself lists their names."""
