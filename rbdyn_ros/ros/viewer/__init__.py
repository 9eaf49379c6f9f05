"""The live view as a node: its subscriptions, its publishers and service clients, its messages."""
