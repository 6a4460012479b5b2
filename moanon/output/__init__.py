"""What a person looks at: plots and reports of fronts."""
