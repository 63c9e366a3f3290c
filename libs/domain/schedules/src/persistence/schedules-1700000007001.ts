import type { MigrationInterface, QueryRunner } from 'typeorm';

export class Schedules1700000007001 implements MigrationInterface {
  name = 'Schedules1700000007001';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
CREATE TABLE headrace.schedules (
  uid text PRIMARY KEY CONSTRAINT ck_schedules__uid CHECK (uid ~ '^[A-Za-z0-9]{22}$'),
  team_uid text REFERENCES headrace.teams (uid),
  owner_user_uid text REFERENCES headrace.users (uid),
  name text NOT NULL CONSTRAINT ck_schedules__name CHECK (btrim(name) <> ''),
  cron text NOT NULL,
  timezone text NOT NULL,
  prompt text NOT NULL,
  enabled boolean NOT NULL,
  agent_config jsonb,
  agent_identity_uid text,
  mode text NOT NULL,
  metadata jsonb,
  overlap_policy text NOT NULL CONSTRAINT ck_schedules__overlap CHECK (overlap_policy IN ('allow', 'skip')),
  jitter_seconds int NOT NULL CONSTRAINT ck_schedules__jitter CHECK (jitter_seconds BETWEEN 0 AND 3600),
  paused_reason text,
  creator_type text NOT NULL CONSTRAINT ck_schedules__creator CHECK (creator_type IN ('user', 'service_account')),
  creator_uid text NOT NULL,
  editor_type text NOT NULL CONSTRAINT ck_schedules__editor CHECK (editor_type IN ('user', 'service_account')),
  editor_uid text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT headrace.now(),
  updated_at timestamptz NOT NULL DEFAULT headrace.now(),
  last_ran_at timestamptz,
  last_run_id uuid,
  last_spawn_error text,
  failures int NOT NULL DEFAULT 0,
  CONSTRAINT ck_schedules__one_owner CHECK (num_nonnulls(team_uid, owner_user_uid) = 1),
  CONSTRAINT ck_schedules__reason_of_paused CHECK (paused_reason IS NULL OR NOT enabled)
);
CREATE INDEX ix_schedules__team ON headrace.schedules (team_uid, lower(name), name, uid);
CREATE INDEX ix_schedules__owner ON headrace.schedules (owner_user_uid, lower(name), name, uid);

-- Whoever makes or deletes schedules of an owner takes its row first: the limit holds under concurrency.
CREATE TABLE headrace.schedule_counts (
  owner_key text PRIMARY KEY,
  used int NOT NULL CONSTRAINT ck_schedule_counts__used CHECK (used >= 0)
);

-- What became of due times. One row stands for all that were missed from due_at through missed_through.
CREATE TABLE headrace.schedule_firings (
  schedule_uid text NOT NULL REFERENCES headrace.schedules (uid) ON DELETE CASCADE,
  due_at timestamptz NOT NULL,
  outcome text NOT NULL CONSTRAINT ck_schedule_firings__outcome CHECK (outcome IN ('started', 'skipped', 'refused', 'missed')),
  run_id uuid,
  missed_through timestamptz,
  detail text,
  fired_at timestamptz NOT NULL DEFAULT headrace.now(),
  PRIMARY KEY (schedule_uid, due_at),
  CONSTRAINT ck_schedule_firings__run CHECK ((outcome = 'started') = (run_id IS NOT NULL)),
  CONSTRAINT ck_schedule_firings__missed CHECK ((outcome = 'missed') = (missed_through IS NOT NULL))
);
CREATE INDEX ix_schedule_firings__fired_at ON headrace.schedule_firings USING brin (fired_at);

-- What waits for its time. Whoever fires a timer holds its row: what deletes or moves it waits for that, and holds from
-- its own commit on.
CREATE TABLE headrace.timers (
  kind text NOT NULL,
  key text NOT NULL,
  cron text NOT NULL,
  timezone text NOT NULL,
  jitter_seconds int NOT NULL,
  due_at timestamptz NOT NULL,
  fire_at timestamptz NOT NULL,
  PRIMARY KEY (kind, key)
) WITH (fillfactor = 70);
CREATE INDEX ix_timers__fire_at ON headrace.timers (fire_at, kind, key);

-- When a process last looked for due timers, and when none did.
CREATE TABLE headrace.timer_beat (
  "only" boolean PRIMARY KEY DEFAULT true CONSTRAINT ck_timer_beat__only CHECK ("only"),
  at timestamptz NOT NULL
);
CREATE TABLE headrace.timer_outages (
  from_at timestamptz NOT NULL,
  until_at timestamptz PRIMARY KEY
);`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP TABLE headrace.timer_outages, headrace.timer_beat, headrace.timers,
      headrace.schedule_firings, headrace.schedule_counts, headrace.schedules`);
  }
}
