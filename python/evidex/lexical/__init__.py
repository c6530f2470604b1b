# SPDX-License-Identifier: Apache-2.0
"""Words of documents and queries: postings, statistics, searches. What indexes and collections have in common."""
