"""What noisy labels say of the true ones: library of classifiers, label model, AutoProbe."""
