"""Other language models at the held-out tasks: asked, their answers read and kept as attempts."""
