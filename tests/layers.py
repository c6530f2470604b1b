# SPDX-License-Identifier: Apache-2.0
"""Who may use whom: the layers of the core and of the package, for test_architecture.py."""

# What the files of a folder of cpp/ may include; every folder may include itself.
CPP_MAY_INCLUDE = {
    "base": set(),
    "cpu": {"base"},
    "kernels": {"base", "cpu"},
    "codecs": {"base", "cpu", "kernels"},
    "search": {"base", "cpu", "kernels"},
    "access": {"base", "cpu", "kernels"},
    "postings": {"base"},
    "index": {"base", "cpu", "kernels", "codecs", "search", "access", "postings"},
    "bindings": {"base", "cpu", "kernels", "codecs", "search", "access", "postings", "index"},
}
# Raw pointers and lengths only: what allocates, throws, starts threads or compiles much inside a target region.
KERNEL_HEADERS = {"array", "bit", "concepts", "cstddef", "cstdint", "limits", "type_traits"} | {
    *("immintrin.h", "arm_neon.h", "kernels/metrics.inl.hpp", "kernels/loops.inl.hpp", "kernels/type_list.hpp"),
    *("kernels/bounds.inl.hpp", "kernels/codes.inl.hpp", "kernels/lookup.inl.hpp"),
    *("kernels/arch/tables.hpp", "kernels/arch/target.hpp", "kernels/table.hpp", "kernels/metrics.hpp"),
}

# What a module of python/evidex may import from the package; a folder counts as one module, "" is the package itself.
VALUES = {"errors", "types", "_checks"}
COLUMNS = VALUES | {"_column", "_scalar", "columns", "predicates"}
ENGINE = COLUMNS | {"_arrays", "_costs", "access", "audit", "codes", "hits", "index_columns", "masks"}
ENGINE |= {"answers", "reading", "stored", "vectors", "writing"}
STORE = ENGINE | {"encoders", "index", "lexical", "sparse", "store", "text", "training"}
RETRIEVE = STORE | {"_literals", "citations", "evaluation", "fusion", "packing", "rerank", "retrieve"}
EVERYTHING = RETRIEVE | {"", "bench", "cli", "handbook", "integrations"}
PYTHON_MAY_IMPORT: dict[str, set[str]] = {
    "": RETRIEVE | {"_core", "handbook"},
    **{name: set() for name in ("errors", "types", "_literals", "_stop_words", "_core")},
    "_checks": {"errors"},
    **dict.fromkeys(("fusion", "packing", "evaluation", "rerank"), VALUES),
    **dict.fromkeys(("encoders", "text"), VALUES | {"_stop_words"}),
    "citations": VALUES | {"_literals", "_stop_words", "packing", "text"},
    "handbook": VALUES | {"text"},
    "_arrays": VALUES,
    "hits": VALUES | {"_arrays"},
    "_names": VALUES,
    "access": VALUES | {"_core", "_names"},
    "audit": VALUES | {"access"},
    "_scalar": VALUES,
    "_column": VALUES | {"_scalar"},
    **dict.fromkeys(("columns", "predicates"), COLUMNS),
    "index_columns": COLUMNS | {"_arrays", "_core"},
    "masks": COLUMNS | {"_arrays", "_core", "access", "index_columns"},
    "_costs": {"_core"},
    "codes": VALUES | {"_core", "_costs"},
    **dict.fromkeys(("answers", "reading", "stored", "training", "vectors", "writing"), ENGINE | {"_core"}),
    "lexical": ENGINE | {"_core", "text"},
    "index": STORE | {"_core"},
    "sparse": (STORE - {"index"}) | {"_core"},
    "store": (STORE - {"index", "sparse"}) | {"_core", "fusion"},
    "retrieve": RETRIEVE,
    **dict.fromkeys(("bench", "cli", "integrations", "__main__"), EVERYTHING),
}
# These print which kernels run here; no other command needs to know.
PYTHON_MAY_IMPORT_TOO = dict.fromkeys(("python/evidex/cli/demo.py", "python/evidex/cli/info.py"), frozenset({"_core"}))
# A source of candidates: it makes masks of rows, as the engine does, and nothing else of integrations may.
PYTHON_MAY_IMPORT_TOO |= dict.fromkeys(
    (f"python/evidex/integrations/{name}.py" for name in ("hnswlib", "_hnsw_graph", "_hnsw_search")),
    frozenset({"_core"}),
)
