"""Steppers for several bodies with joints and contacts."""
