"""The public API is what README and docs name, and nothing else."""

import builtins

import unchunk
from unchunk import errors


def test_the_public_names_are_these() -> None:
    assert unchunk.__all__ == [
        "Amount",
        "Answer",
        "ChatRequest",
        "ChatTurn",
        "Chunk",
        "ChunkAwareRetriever",
        "ChunkOverlapInfo",
        "ChunkResult",
        "ChunkingStrategy",
        "Collection",
        "Conversation",
        "Document",
        "Engine",
        "Event",
        "Evidence",
        "Examination",
        "Finding",
        "Found",
        "Gap",
        "Hit",
        "Outcome",
        "Passage",
        "QueryAnalyzer",
        "QueryPlan",
        "RAGTextRetrievalParams",
        "Receipt",
        "ReconstructedDocument",
        "ReconstructionResult",
        "Related",
        "Sampling",
        "Seam",
        "Span",
        "Stitched",
        "Turn",
        "UnchunkError",
        "VectorStoreChunk",
        "VectorStoreFile",
        "Version",
        "Where",
        "build_context_block",
        "chunk",
        "chunk_text",
        "detect_chunk_overlap",
        "get_all_vector_store_file_contents",
        "get_filename_from_file",
        "get_vector_store_file_content",
        "inject_rag_context",
        "open_collection",
        "rag_search",
        "retrieve_and_reconstruct_files",
        "retrieve_chunks",
        "stitch",
        "stitch_chunks",
        "stitch_files",
        "uncovered",
    ]
    assert all(hasattr(unchunk, name) for name in unchunk.__all__)


def test_a_star_import_replaces_none_of_pythons_own_names() -> None:
    names: dict[str, object] = {}
    exec("from unchunk import *", names)  # noqa: S102 - where a star is allowed
    assert not {name for name in names if hasattr(builtins, name)} - {"__builtins__"}
    assert callable(unchunk.open)
    assert "open" in dir(unchunk)


def test_every_error_stands_in_the_tree_and_is_permanent_or_transient() -> None:
    for name, kind in vars(errors).items():
        if isinstance(kind, type) and kind is not errors.UnchunkError:
            assert issubclass(kind, errors.PermanentError | errors.TransientError), name
            assert name in (errors.__doc__ or ""), name


def test_cut_and_joined_a_text_is_the_same() -> None:
    text = "One passage.\n\nAnother passage, a little longer.\n" * 40
    spans = unchunk.chunk(text, unchunk.ChunkingStrategy("words", 30, 10))
    assert "".join(span.of(text) for span in unchunk.uncovered(spans)) == text
