"""A primal-dual interior point method for the reduced problems of the top family."""
