"""The bridge to a board: the board as controller, the board as plant."""
