"""What models are trained and judged on: workloads, scripts of them, and examples made of both."""
