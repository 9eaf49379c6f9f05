"""What measurements tell of a loop and of its plant."""
