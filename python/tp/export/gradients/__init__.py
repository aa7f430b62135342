"""How gradients flow through a traced forward pass: modes, casts, and code that has no form."""
