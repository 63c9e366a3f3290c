-- The traceparent of the span of the request, so that the runs it starts are in its trace. Null: the request was not traced.
ALTER TABLE headrace.webhook_deliveries ADD COLUMN trace_context text;
