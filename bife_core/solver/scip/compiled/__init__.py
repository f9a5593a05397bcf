"""What SCIP calls without Python: features read from its LP, a rule's scores, the best candidate branched on."""
