"""The observer: from encoders and an IMU to the state."""
