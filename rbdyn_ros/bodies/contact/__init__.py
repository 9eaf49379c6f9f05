"""Contacts of any model, compiled: where shapes touch, and which impulses act there."""
