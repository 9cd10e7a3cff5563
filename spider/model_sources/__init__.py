"""Where models come from: the package index (SmolLM2), Hugging Face, ModelScope, or a folder."""
