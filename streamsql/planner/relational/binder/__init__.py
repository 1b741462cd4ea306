"""Names and types: queries of syntax nodes to relations, with dependent joins for subqueries."""
