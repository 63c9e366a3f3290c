import { SOCKET_PORT } from './server-socket.js';

/** Written into `postgresql.conf` of a new cluster, where an operator may change them: sized for a small machine. */
export const INITIAL_SETTINGS: Readonly<Record<string, string>> = {
  max_connections: '200',
  shared_buffers: '128MB',
  max_wal_size: '512MB',
  min_wal_size: '80MB',
  checkpoint_timeout: '10min',
  // Short statements on few cores: parallel plans and compilation cost more than they save.
  max_parallel_workers_per_gather: '0',
  jit: 'off',
  io_method: 'sync',
  timezone: 'UTC',
  log_timezone: 'UTC',
  logging_collector: 'on',
  // One file a weekday, overwritten a week later.
  log_filename: 'postgresql-%a.log',
  log_rotation_age: '1d',
  log_rotation_size: '0',
  log_truncate_on_rotation: 'on',
  log_line_prefix: '%m [%p] ',
  log_checkpoints: 'off',
  // Statements and row values of failed statements stay out of the log: prompts and secrets are among them.
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
};

/**
 * Passed on every start; they override the configuration file. No TCP: a server assigns a connection slot before it asks for a
 * password, so that any process of the machine could occupy all slots.
 */
export function startArguments(clusterDir: string, socketDirectory: string, durable: boolean): string[] {
  const forced = durable ? 'on' : 'off';
  const settings: Record<string, string> = {
    listen_addresses: '',
    // A list of quoted names: a path may contain commas and spaces.
    unix_socket_directories: `"${socketDirectory.replaceAll('"', '""')}"`,
    unix_socket_permissions: '0700',
    ...{ fsync: forced, synchronous_commit: forced, full_page_writes: forced },
  };
  return [
    ...['-D', clusterDir, '-p', String(SOCKET_PORT)],
    ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ];
}

/** The server gets nothing of our environment, which could be read from /proc. */
export const SERVER_ENVIRONMENT = { PATH: '/usr/local/bin:/usr/bin:/bin', TZ: 'UTC', LC_ALL: 'C' } as const;
