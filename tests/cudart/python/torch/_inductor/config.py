"""What is looked at of torch.compile's settings."""

joint_graph_constant_folding = True
