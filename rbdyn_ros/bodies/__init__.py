"""Rigid bodies with joints and contacts: any model in one arena of two arrays, stepped by one
compiled scheme.
"""
