"""Rules found in recorded decisions alone: exponents fitted, formulas bred, no model and no reference rule asked."""
