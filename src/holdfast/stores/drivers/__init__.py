"""Drivers that execute plans on connections of the application. Each is imported when it is needed first."""
