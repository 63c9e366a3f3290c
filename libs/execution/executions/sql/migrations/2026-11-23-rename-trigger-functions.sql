-- Databases of earlier versions have these functions under other names. Their triggers follow a renamed function, so no row
-- is written without them.
DO $$
BEGIN
  IF to_regprocedure('headrace.tell_worker_run()') IS NOT NULL THEN
    ALTER FUNCTION headrace.tell_worker_run() RENAME TO notify_worker_run;
    ALTER FUNCTION headrace.tell_worker_to_stop() RENAME TO notify_worker_stop;
    ALTER FUNCTION headrace.own_approval() RENAME TO set_approval_owner;
    -- The function that called it contains its expression now.
    DROP FUNCTION headrace.uuid_floor(timestamptz);
  END IF;
END $$;
