"""A user's own."""

print("the user's own was first")
