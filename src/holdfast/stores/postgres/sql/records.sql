-- records: the jobs with these seqs.
select record.* from holdfast.record where record.seq = any(:seqs::bigint[]) order by record.seq
