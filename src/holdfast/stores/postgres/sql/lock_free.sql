-- lock_free: hold those of these rows that nobody else holds. Who holds rows in no particular order waits for none.
select job.seq from holdfast.job where job.seq = any(:seqs::bigint[]) order by job.seq for update skip locked
