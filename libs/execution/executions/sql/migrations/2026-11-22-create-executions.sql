-- Executions: one attempt to execute a run on one worker. Concurrency limits are counters that guarded updates change.

-- A row for each pool (`pool:<name>`) and for each owner (the slot_key of its runs).
CREATE TABLE headrace.slot_pools (
  key text PRIMARY KEY,
  used int NOT NULL CONSTRAINT ck_slot_pools__not_negative CHECK (used >= 0),
  capacity int NOT NULL CHECK (capacity >= 0),
  -- Of a pool: how many slots it has given to queued runs. Of an owner: the turn of the pool when the owner last got one.
  turn bigint NOT NULL DEFAULT 0,
  -- Of a pool: the owner after which the next walk over the waiting owners starts, when there are more than one walk covers.
  owner_cursor text NOT NULL DEFAULT ''
);

CREATE TABLE headrace.executions (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  run_id uuid NOT NULL REFERENCES headrace.runs (id) ON DELETE CASCADE,
  slot_key text NOT NULL,
  pool text NOT NULL,
  phase text NOT NULL
    CONSTRAINT ck_executions__phase CHECK (phase IN ('offered', 'claimed', 'started', 'idle', 'debug', 'ended')),
  lease_epoch int NOT NULL DEFAULT 0,
  placed_by text NOT NULL,
  instance_id text,
  slot_held boolean NOT NULL,
  desired text NOT NULL DEFAULT 'run' CONSTRAINT ck_executions__desired CHECK (desired IN ('run', 'stop', 'kill', 'close')),
  desired_reason text,
  fence_at timestamptz,
  command_version bigint NOT NULL DEFAULT 1,
  acked_seq bigint NOT NULL DEFAULT 0,
  idle_timeout_ms int NOT NULL,
  offered_at timestamptz NOT NULL,
  lease_expires_at timestamptz NOT NULL,
  claimed_at timestamptz,
  started_at timestamptz,
  busy_since timestamptz,
  idle_since timestamptz,
  ended_at timestamptz,
  end_reason text,
  exit_code int,
  -- How long an execution whose set-up failed stays for a debug agent. Null: it does not stay.
  debug_window_ms int,
  -- Set with the phase, and extended.
  debug_until timestamptz,
  -- The connection of the worker that holds the execution; another one when the worker reconnects.
  worker_connection_id uuid,
  -- When the offer was written to the socket, which happens once.
  offer_sent_at timestamptz,
  -- Since when a connection that does not report its runs holds the execution in place of one that was lost.
  worker_adopted_at timestamptz,
  -- When the working time of the run may be used up.
  ceiling_at timestamptz,
  -- When the process of the worker ended. No other connection adopts the execution after that.
  worker_left_at timestamptz,
  -- Bytes of the events that the runner has reported, kept by the server for the limits of an execution.
  output_bytes bigint NOT NULL DEFAULT 0,
  CONSTRAINT ck_executions__ended CHECK ((phase = 'ended') = (ended_at IS NOT NULL)),
  CONSTRAINT ck_executions__ended_holds_no_slot CHECK (phase <> 'ended' OR NOT slot_held),
  CONSTRAINT ck_executions__idle CHECK (phase IN ('debug', 'ended') OR (phase = 'idle') = (idle_since IS NOT NULL)),
  CONSTRAINT ck_executions__debug CHECK (phase = 'ended' OR (phase = 'debug') = (debug_until IS NOT NULL))
);
CREATE UNIQUE INDEX uq_executions__one_live_per_run ON headrace.executions (run_id) WHERE ended_at IS NULL;
CREATE INDEX ix_executions__run ON headrace.executions (run_id, id);
CREATE INDEX ix_executions__idle ON headrace.executions (pool, idle_since) WHERE phase = 'idle';
CREATE INDEX ix_executions__debug ON headrace.executions (pool, idle_since) WHERE phase = 'debug';
CREATE INDEX ix_executions__live ON headrace.executions (lease_expires_at) WHERE ended_at IS NULL;
CREATE INDEX ix_executions__ceiling ON headrace.executions (ceiling_at) WHERE ceiling_at IS NOT NULL;
CREATE INDEX ix_executions__worker ON headrace.executions (worker_connection_id)
  WHERE worker_connection_id IS NOT NULL AND ended_at IS NULL;
CREATE INDEX ix_executions__worker_pool ON headrace.executions (pool, slot_key)
  WHERE worker_connection_id IS NOT NULL AND ended_at IS NULL;
CREATE INDEX ix_executions__worker_lost ON headrace.executions (pool, slot_key, ended_at)
  WHERE offer_sent_at IS NOT NULL AND end_reason IN ('claim_expired', 'lease_expired', 'fenced');

-- Messages to a run after its first prompt.
CREATE TABLE headrace.run_followups (
  id uuid PRIMARY KEY,
  run_id uuid NOT NULL REFERENCES headrace.runs (id) ON DELETE CASCADE,
  position bigint GENERATED ALWAYS AS IDENTITY,
  message text NOT NULL,
  mode text,
  outcome text NOT NULL,
  author_type text NOT NULL,
  author_uid text NOT NULL,
  created_at timestamptz NOT NULL,
  consumed_at timestamptz,
  execution_id bigint,
  -- The execution in its debug window that the message is for.
  debug_execution_id bigint,
  -- How often an execution ended without the message, which then returned to the queue.
  reroutes smallint NOT NULL DEFAULT 0
);
CREATE INDEX ix_run_followups__pending ON headrace.run_followups (run_id, position) WHERE consumed_at IS NULL;
-- The follow-ups of a run are deleted with it; the partial index has the pending ones only.
CREATE INDEX ix_run_followups__run ON headrace.run_followups (run_id);

-- Permission requests of agents.
CREATE TABLE headrace.approvals (
  run_id uuid NOT NULL REFERENCES headrace.runs (id) ON DELETE CASCADE,
  id text NOT NULL,
  execution_id bigint NOT NULL,
  tool_call_id text,
  title text NOT NULL,
  input jsonb,
  options jsonb NOT NULL,
  state text NOT NULL CONSTRAINT ck_approvals__state CHECK (state IN ('pending', 'allowed', 'denied')),
  decided_via text CONSTRAINT ck_approvals__decided_via CHECK (decided_via IN ('user', 'rule', 'timeout', 'cancel')),
  decided_by_type text,
  decided_by_uid text,
  note text,
  requested_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  decided_at timestamptz,
  -- The owner of the run, so that a user finds all requests that wait. functions/set_approval_owner.sql sets it.
  slot_key text NOT NULL,
  -- What the request is about, so that an answer can apply to the rest of the run.
  subject jsonb,
  always boolean NOT NULL DEFAULT false,
  rule_id text,
  PRIMARY KEY (run_id, id),
  CONSTRAINT ck_approvals__decision CHECK ((state = 'pending') = (decided_at IS NULL)),
  CONSTRAINT ck_approvals__always CHECK (NOT always OR (state = 'allowed' AND decided_via = 'user'))
);
CREATE INDEX ix_approvals__pending ON headrace.approvals (expires_at) WHERE state = 'pending';
CREATE INDEX ix_approvals__owner ON headrace.approvals (slot_key, state, requested_at, run_id, id);
