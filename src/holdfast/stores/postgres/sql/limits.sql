-- limit_declare: write a declaration. The number of an operator stays in force.
insert into holdfast.limits (name, kind, declared, per, burst)
values (:name::text, :kind::text, :number::bigint, :per::bigint, :burst::bigint)
    on conflict (name) do update
   set override = case when limits.kind = excluded.kind then limits.override end, kind = excluded.kind,
       declared = excluded.declared, per = excluded.per, burst = excluded.burst

-- limits_read: all limits.
select limits.name, limits.kind, limits.declared, limits.per, limits.burst, limits.override from holdfast.limits order by limits.name

-- limit_number: the number of an operator for a limit, if there is one. The lock admits one change of a limit and its
-- lanes at a time, so that only one of two callers who set the same number makes the change.
select limits.override from holdfast.limits where limits.name = :name::text for no key update

-- lane_number: the number of an operator for a lane.
select lane.override from holdfast.lane where lane.lane = :lane::text

-- limit_override: set or reset the number of a limit.
update holdfast.limits set override = :number::bigint where limits.name = :name::text

-- lane_override: set or reset the number of a lane.
insert into holdfast.lane (lane, override) values (:lane::text, :number::bigint)
    on conflict (lane) do update set override = excluded.override

-- limit_wake: let the next claim read the lanes of a limit again.
insert into holdfast.lane_change (lanes)
select array[lane.lane] from holdfast.lane where split_part(lane.lane, chr(31), 1) = :name::text

-- lanes_waiting: the waiting jobs of each track: the details of one of them, and their number.
select (select one.details from holdfast.job one
         where one.status = 'pending' and one.type = tracks.type and one.track = tracks.track limit 1), tracks.jobs
  from (select job.type, job.track, count(*) as jobs
          from holdfast.job
         where job.status = 'pending' and job.track is not null
         group by job.type, job.track) tracks

-- lanes_running: how many jobs hold each lane.
select held.lane, count(*)
  from (select permit.lane from holdfast.permit
        union all
        select job.lane from holdfast.job where job.status = 'running' and job.lane is not null) held
 group by held.lane

-- lanes_overrides: the lanes for which an operator has set a number.
select lane.lane, lane.override from holdfast.lane where lane.override is not null

-- lanes_holders: the running jobs that hold these lanes, oldest first.
with wanted as materialized (
    select array(select json_array_elements_text(:lanes::json)) as lanes
)
select held.lane, held.id
  from (select permit.lane, job.seq, job.id
          from holdfast.permit
          join holdfast.job on job.seq = permit.job
         where permit.lane = any((select wanted.lanes from wanted)::text[])
        union all
        select job.lane, job.seq, job.id
          from holdfast.job
         where job.status = 'running' and job.lane = any((select wanted.lanes from wanted)::text[])) held
 order by held.lane, held.seq

-- lanes_refunds: the weights that the next claim will refund to these lanes.
select changed.lane, sum(lane_change.refund)::bigint
  from holdfast.lane_change cross join unnest(lane_change.lanes) changed (lane)
 where lane_change.refund is not null and changed.lane = any(array(select json_array_elements_text(:lanes::json)))
 group by changed.lane

-- skip: remove failed jobs from their orders. Returns the jobs that had a place.
with left_places as (
    delete from holdfast.place
     using holdfast.job
     where job.seq = any(:seqs::bigint[]) and place.chain_id = job.chain_id and (place.chain or place.position = job.seq)
    returning place.lane, job.id
),
changed as (
    insert into holdfast.lane_change (lanes) select array[left_places.lane] from left_places
)
select distinct left_places.id from left_places

-- held_orders: failed jobs that hold a place in an order.
select place.lane, job.id
  from holdfast.place
  join holdfast.job on job.chain_id = place.chain_id
 where job.status = 'failed'
 order by place.lane, place.position
 limit :limit::bigint

-- lanes_released: whether there are changed lanes that no claim has read yet.
select (select lane_change.seq from holdfast.lane_change where not lane_change.new
         order by lane_change.new, lane_change.seq limit 1) is not null
