"""Pictures and trees of what a program holds and sends."""
