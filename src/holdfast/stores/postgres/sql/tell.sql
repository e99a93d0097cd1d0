-- tell: wake whoever listens. In a transaction of its own, which waits for no disk: notifications make commits wait for
-- each other, and so would theirs.
select pg_notify(:channel::text, :payload::text)
