"""What the models are compared with: MetaSchedule, dlight, PyTorch, and the roofline."""
