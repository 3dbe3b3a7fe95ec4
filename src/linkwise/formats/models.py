def robot_of_model(model):
    return None
