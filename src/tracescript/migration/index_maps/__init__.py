"""Index maps as text: what a text tells of its release, and how TVM 0.27 writes the same map.

Data flows one way. `document` reads a text, `legacy` brings one from before 0.22 into the
shape that came later, `convert` makes the nodes of 0.27, and `write` writes them. Only
`document` is loaded with the package: few traces have index maps that must be written anew.
"""

from tracescript.migration.index_maps.document import FORMAT, BadIndexMap, releases_of

__all__ = ["FORMAT", "BadIndexMap", "releases_of"]
