-- limits: declare limits, set their numbers, and report them. The plans are in `stores/sql/limits.py`.

-- limit_declare: write a declaration. The number of an operator stays in force.
insert into holdfast_limit (name, kind, declared, per, burst) values (:name, :kind, :number, :per, :burst)
    on conflict (name) do update
   set override = case when kind = excluded.kind then override end, kind = excluded.kind, declared = excluded.declared,
       per = excluded.per, burst = excluded.burst

-- limits_read: all limits.
select name, kind, declared, per, burst, override from holdfast_limit order by name

-- limit_number: the number of an operator for a limit, if there is one.
select override from holdfast_limit where name = :name

-- lane_number: the number of an operator for a lane.
select override from holdfast_lane where lane = :lane

-- limit_override: set or reset the number of a limit.
update holdfast_limit set override = :number where name = :name

-- lane_override: set or reset the number of a lane.
insert into holdfast_lane (lane, override) values (:lane, :number)
    on conflict (lane) do update set override = excluded.override

-- limit_wake: read the lanes of a limit again.
insert into holdfast_lane_change (lane)
select lane from holdfast_lane where substr(lane, 1, instr(lane, char(31)) - 1) = :name

-- lanes_waiting: the waiting jobs of each track: the details of one of them, and their number.
select max(details), count(*) from holdfast_job where status = 'pending' and track_seq is not null group by type, track_seq

-- lanes_running: how many jobs hold each lane.
select lane, count(*)
  from (select lane from holdfast_permit
        union all
        select lane from holdfast_job where lane is not null and status = 'running')
 group by lane

-- lanes_overrides: the lanes with numbers of their own.
select lane, override from holdfast_lane where override is not null

-- lanes_holders: the running jobs that hold these lanes, oldest first.
select lane, id
  from (select permit.lane, job.id, job.seq
          from holdfast_permit permit
          join holdfast_job job on job.seq = permit.job
         where permit.lane in (select value from json_each(:lanes))
        union all
        select lane, id, seq
          from holdfast_job
         where status = 'running' and lane in (select value from json_each(:lanes)))
 order by lane, seq

-- lanes_refunds: the weights that the next claim will refund to these lanes.
select lane, sum(refund) from holdfast_lane_change
 where refund is not null and lane in (select value from json_each(:lanes))
 group by lane

-- skip_held: whether a failed job has a place in an order.
select exists (select 1 from holdfast_place where chain_id = :chain_id and (chain = 1 or position = :seq))

-- skip_change: read the orders of a failed job again.
insert into holdfast_lane_change (lane) select place.lane from holdfast_place place where place.chain_id = :chain_id

-- skip: let a failed job leave its orders.
delete from holdfast_place where chain_id = :chain_id and (chain = 1 or position = :seq)

-- lanes_released: whether there are changes of lanes that no claim has read yet.
select exists (select 1 from holdfast_lane_change)
