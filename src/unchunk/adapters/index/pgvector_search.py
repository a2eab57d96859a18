"""What is asked of a table: the nearest vectors, and the best by BM25.

Terms are ranked the same way with pg_textsearch and without: what a term weighs in a chunk,
times how rare it is. pg_textsearch knows without counting which chunks may be the best and how
rare a term is; its own ranking only chooses the candidates, since it sees rounded weights.
Without it all of an owner's chunks that share a term are read, and counted. That is exact, and
takes the longer the more there are.
"""

from typing import Any

from unchunk.adapters.index.pgvector_rows import escaped, signed, vector_text, word
from unchunk.adapters.index.pgvector_tables import Table
from unchunk.domain import Terms, Within
from unchunk.ports import Vectors

Asked = tuple[str, dict[str, Any]]

_KEY = "owner, document, generation, chunk_index"
_MORE = 20

# No zero vector has an angle to any: as far as a right angle, and never NaN.
_NEAREST = f"""
SELECT {_KEY}, 1 - coalesce(nullif(dense <=> %(vector)s::{{kind}}, 'NaN'), 1)
FROM {{name}} WHERE {{within}}
ORDER BY (dense <=> %(vector)s::{{kind}}){{exactly}} LIMIT %(limit)s
"""  # noqa: S608 names that we made

# Candidates are a subquery, and no table expression: only so does pg_textsearch tell the scores
# of an index scan, and not weigh each text again.
_RANKED_BY_INDEX = f"""
WITH asked AS MATERIALIZED (
  SELECT term, factor * -(word <@> to_bm25query(word, '{{name}}_words')) AS worth
  FROM unnest(%(terms)s::integer[], %(factors)s::real[], %(words)s::text[])
    AS asked (term, factor, word)
), scored AS (
  SELECT {_KEY}, (SELECT sum(worth * weights[array_position(terms, term)]) FROM asked) AS score
  FROM (
    SELECT {_KEY}, terms, weights FROM {{name}} WHERE {{within}}
    ORDER BY words <@> to_bm25query(%(text)s, '{{name}}_words') LIMIT %(candidates)s
  ) AS candidates
)
SELECT {_KEY}, score FROM scored WHERE score > 0 ORDER BY score DESC LIMIT %(limit)s
"""  # noqa: S608 names that we made

# Each pair is a chunk of the owner's and a term of the query that it has.
_RANKED_BY_COUNT = f"""
WITH pairs AS MATERIALIZED (
  SELECT * FROM (
    SELECT {_KEY}, folder, term, factor * weights[array_position(terms, term)] AS weight
    FROM {{name}}, unnest(%(terms)s::integer[], %(factors)s::real[]) AS asked (term, factor)
    WHERE owner = %(owner)s AND terms && %(terms)s::integer[] OFFSET 0
  ) AS every WHERE weight IS NOT NULL
), rarity AS MATERIALIZED (
  SELECT term, ln(1 + (held.total - count(*) + 0.5) / (count(*) + 0.5)) AS rare
  FROM pairs, (SELECT count(*) AS total FROM {{name}} WHERE owner = %(owner)s) AS held
  GROUP BY term, held.total
)
SELECT {_KEY}, sum(weight * rare) AS score FROM pairs JOIN rarity USING (term)
WHERE {{within}} GROUP BY {_KEY} ORDER BY score DESC LIMIT %(limit)s
"""  # noqa: S608 names that we made


def nearest(table: Table, query: Vectors, within: Within, limit: int, *, exactly: bool) -> Asked:
    """`exactly`: by reading all that may be found, not by the graph."""
    chosen, values = _where(within)
    # The graph knows the distance, and not a sum.
    text = _NEAREST.format(
        name=table.name, kind=table.kind, within=chosen, exactly=" + 0" if exactly else ""
    )
    return text, values | {"vector": vector_text(query), "limit": limit}


def ranked(table: Table, query: Terms, within: Within, limit: int) -> Asked:
    chosen, values = _where(within)
    values |= {"terms": signed(query.ids), "factors": list(query.weights), "limit": limit}
    if not table.worded:
        return _RANKED_BY_COUNT.format(name=table.name, within=chosen), values
    words = [word(term) for term in query.ids]
    values |= {"words": words, "text": " ".join(words), "candidates": 2 * limit + _MORE}
    return _RANKED_BY_INDEX.format(name=table.name, within=chosen), values


def _where(within: Within) -> Asked:
    chosen, values = "owner = %(owner)s", {"owner": escaped(within.owner)}
    many: dict[str, Any] = {}
    for column, names in (("document", within.documents), ("folder", within.folders)):
        if names is not None:
            chosen += f" AND {column} = ANY(%({column}s)s)"
            many[f"{column}s"] = [escaped(name) for name in names]
    return chosen, values | many
