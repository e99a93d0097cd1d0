-- count_up: there are more jobs of a type.
insert into holdfast_tally (type, jobs) values (:type, :jobs)
    on conflict (type) do update set jobs = jobs + excluded.jobs
