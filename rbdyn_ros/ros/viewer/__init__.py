"""The live view as a node: its subscriptions, publishers, service clients and messages."""
