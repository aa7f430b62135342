"""How tp.export_jax lowers what JAX traces."""
