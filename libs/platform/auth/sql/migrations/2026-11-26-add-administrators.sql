-- Administrators of the installation create teams and users. `headrace up` makes the first user one.
ALTER TABLE headrace.users ADD COLUMN is_administrator boolean NOT NULL DEFAULT false;
