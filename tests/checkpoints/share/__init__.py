"""What of the store leaves this machine, where to, and at what cost."""
