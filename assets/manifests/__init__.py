"""Manifests: what pages say, as KernelIndex objects named by digest."""
