-- listen_forget: those whose time is over listen no more.
delete from holdfast_listener where until <= :now
