-- The traceparent of the span that has created the run, to which the spans of the run belong. Null: the run is not traced.
ALTER TABLE headrace.runs ADD COLUMN trace_context text;
