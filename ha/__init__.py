"""A PostgreSQL cluster of Patroni, etcd and HAProxy that fails over under a load. `make ha` runs it."""
