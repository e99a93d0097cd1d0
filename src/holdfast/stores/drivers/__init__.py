"""Connections that an application has already, as drivers for plans. Each is imported when such a connection is met."""
