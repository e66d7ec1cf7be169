"""What is scheduled: families of operators, random workloads of them, and their design spaces."""
