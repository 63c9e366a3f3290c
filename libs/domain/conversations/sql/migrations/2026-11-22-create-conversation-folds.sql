-- Stored projections of run events. They have no foreign key to the run: they are a cache of its log and are deleted when
-- the run is pruned.
CREATE TABLE headrace.conversation_folds (
  run_id uuid NOT NULL,
  format text NOT NULL,
  format_version int NOT NULL,
  turn int NOT NULL CONSTRAINT ck_conversation_folds__turn CHECK (turn >= 0),
  upto_seq bigint NOT NULL CONSTRAINT ck_conversation_folds__upto_seq CHECK (upto_seq > 0),
  fold jsonb NOT NULL,
  CONSTRAINT pk_conversation_folds PRIMARY KEY (run_id, format, format_version, turn)
);
