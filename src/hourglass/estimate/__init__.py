"""From noisy totals to answers: point estimates, intervals, expected errors."""
