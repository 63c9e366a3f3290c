-- Stored objects without a reference, which are deleted later. A name that ends with `/` is a prefix.
CREATE TABLE headrace.discarded_objects (
  name text PRIMARY KEY,
  delete_after timestamptz NOT NULL
);
CREATE INDEX ix_discarded_objects__due ON headrace.discarded_objects (delete_after);
