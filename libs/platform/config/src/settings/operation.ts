import {
  boolean,
  duration,
  host,
  integer,
  literal,
  optionalFile,
  optionalPort,
  retention,
  setting,
  settingGroup,
} from '../setting-kinds.js';

export const OPERATION_SETTINGS = {
  ...settingGroup('Operation', {
    logLevel: setting(
      literal('info', ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']),
      'Lowest level that is logged.',
    ),
    logFormat: setting(
      literal('auto', ['auto', 'json', 'text']),
      'Format of the log: one JSON object per line, or readable text. auto: text on a terminal, JSON everywhere else.',
    ),
    metricsHost: setting(
      host('127.0.0.1'),
      'Address that API_METRICS_PORT, INGRESS_METRICS_PORT and PROCESSOR_METRICS_PORT bind. Metrics need no token: do not expose them.',
    ),
    apiMetricsPort: setting(
      optionalPort(),
      'Port on which the API serves /metrics for Prometheus; 0 selects a free port. Default: none. The port of the API itself does not serve metrics.',
    ),
    ingressMetricsPort: setting(
      optionalPort(),
      'Port on which the ingress serves /metrics for Prometheus; 0 selects a free port. Default: none.',
    ),
    processorMetricsPort: setting(
      optionalPort(),
      'Port on which the processor serves /metrics for Prometheus; 0 selects a free port. Default: none.',
    ),
    modelsFile: setting(
      optionalFile(),
      'JSON file with the models that GET /agent/models lists, instead of the built-in list: {"models": [{"id", "display_name", "provider", "vision_supported"}]}.',
    ),
    harnessesFile: setting(
      optionalFile(),
      'JSON file that adds agents and changes the built-in definitions of known agents; see docs/harnesses.md. Read by API, processor and workers.',
    ),
    personalRuns: setting(
      literal('members', ['everybody', 'members', 'nobody']),
      'Who may create personal runs and schedules, which execute commands on the machines of the installation: every user, users with the role member, admin or owner in a team, or nobody. See docs/roles.md.',
    ),
    apiRatePerMinute: setting(
      integer(600, 0, 10_000_000),
      'Requests a minute and token, per API process; 0 switches the limit off.',
    ),
    requestTimeout: setting(duration('30s', '1s', '10min'), 'Maximum time to receive a request.'),
    runListTimeout: setting(
      duration('5s', '100ms', '5min'),
      'Maximum time to query one page of a list of runs; then the response is a 503.',
    ),
    shutdownGrace: setting(
      duration('10s', '0s', '30min'),
      'How long a stopping process waits for started runs before it ends them.',
    ),
    signedUrlTtl: setting(duration('15min', '1s', '7d'), 'How long a download link is valid.'),
    idempotencyKeyTtl: setting(duration('24h', '1min', '30d'), 'How long an Idempotency-Key is stored.'),
    apiRejectionRateLimit: setting(
      integer(20, 0, 1_000_000),
      'Requests without a valid token from one address (a /64 network of IPv6) that one API process answers per second; further responses are delayed by up to 2 s. 0 sets no limit.',
    ),
    allowTestClock: setting(
      boolean(false),
      'Allows tests to move the clock of this installation. Never set it in production.',
      'HEADRACE_TEST_CLOCK',
    ),
  }),
  ...settingGroup('Live events', {
    livePoll: setting(
      duration('250ms', '20ms', '1min'),
      'Interval at which a process queries for new events of all runs that clients watch live, with one statement.',
    ),
    liveMaxStreams: setting(
      integer(2000, 1, 100_000),
      'Maximum number of concurrent event streams of one API process.',
    ),
    liveMaxStreamsPerPrincipal: setting(
      integer(50, 1, 100_000),
      'Maximum number of concurrent event streams of one user or service account in one API process.',
    ),
    liveHeartbeat: setting(
      duration('15s', '50ms', '5min'),
      'Interval of heartbeats on an event stream without events.',
    ),
    liveAuthRecheckInterval: setting(
      duration('30s', '50ms', '1h'),
      'Interval at which the access of the client of an event stream to its run is checked again.',
    ),
    liveWriteTimeout: setting(
      duration('30s', '50ms', '10min'),
      'An event stream whose client reads nothing for this long is closed; the client can resume it.',
    ),
  }),
  ...settingGroup('Retention', {
    retainRuns: setting(
      retention(),
      'Ended runs without a change for this long are deleted with all their data. Default: never.',
      'RETENTION_RUNS',
    ),
    retainTranscripts: setting(
      retention(),
      'Raw transcripts of ended runs are deleted after this time; such a run can no longer be resumed with its memory. Default: never.',
      'RETENTION_TRANSCRIPTS',
    ),
    retainTimelines: setting(
      retention(),
      'Timelines and conversations of ended runs are deleted after this time; the runs themselves stay. Default: never.',
      'RETENTION_TIMELINE',
    ),
  }),
} as const;
