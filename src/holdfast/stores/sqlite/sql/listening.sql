-- listening: whether anybody wants events recorded.
select 1 from holdfast_listener where until > :now limit 1
