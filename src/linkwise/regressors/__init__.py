"""The parameters that torques are linear in, base parameters, and regressors: the matrices of that linear map."""
