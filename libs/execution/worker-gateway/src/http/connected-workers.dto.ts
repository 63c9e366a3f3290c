import { ArrayField, DateTimeField, IntegerField, object, StringField } from '#platform/http';

export class ConnectedWorkerItem {
  @StringField({ description: 'What `worker_host` of a configuration takes.', example: 'build-1' }) worker_host: string;
  @IntegerField({ description: 'How many connections carry this name; a run goes to one of them.', min: 1 })
  connection_count: number;
  @DateTimeField({ description: 'When the oldest of them was made.' }) connected_at: string;
  @DateTimeField({ description: 'Last sign of life of any of them; may be some seconds old.' }) last_seen_at: string;
}

export class ListConnectedSelfHostedWorkersResponse {
  @ArrayField(object(() => ConnectedWorkerItem), { description: 'The connected worker hosts.' })
  workers: ConnectedWorkerItem[];
}
