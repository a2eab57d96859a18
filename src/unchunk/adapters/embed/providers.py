"""Models of providers as data: what is known of those that people use."""

from dataclasses import dataclass, replace

from unchunk.domain import EmbedderIdentity, EncodingName


@dataclass(frozen=True, slots=True)
class RemoteModel:
    """`dimensions` is None until they are told or learned.

    `encoding` is how its tokens are counted, where that is known. Thresholds are not known: a
    `min_score` of 0 says that it has to be measured.
    """

    name: str
    dimensions: int | None = None
    max_tokens: int = 512
    encoding: EncodingName | None = None
    document_prefix: str = ""
    query_prefix: str = ""
    min_score: float = 0.0

    def identity(self) -> EmbedderIdentity:
        return EmbedderIdentity(
            name=self.name,
            dimensions=self.dimensions or 0,
            max_tokens=self.max_tokens,
            document_prefix=self.document_prefix,
            query_prefix=self.query_prefix,
            min_score=self.min_score,
        )


_FOR_SEARCH = "Represent this sentence for searching relevant passages: "

_KNOWN = {
    model.name: model
    for model in (
        RemoteModel("text-embedding-3-small", 1536, 8191, "cl100k_base"),
        RemoteModel("text-embedding-3-large", 3072, 8191, "cl100k_base"),
        RemoteModel("text-embedding-ada-002", 1536, 8191, "cl100k_base"),
        # Trained on more, but 2048 is what Ollama's file of it takes.
        RemoteModel(
            "nomic-embed-text",
            768,
            2048,
            document_prefix="search_document: ",
            query_prefix="search_query: ",
        ),
        RemoteModel("mxbai-embed-large", 1024, 512, query_prefix=_FOR_SEARCH),
        RemoteModel("bge-m3", 1024, 8192),
        RemoteModel("all-minilm", 384, 256),
    )
}


def remote_model(name: str) -> RemoteModel:
    """What is known of a model, whatever tag Ollama gives it; for others, safe guesses."""
    known = _KNOWN.get(name) or _KNOWN.get(name.partition(":")[0])
    return replace(known, name=name) if known else RemoteModel(name)
