import {
  EVERY_PROCESS,
  boolean,
  duration,
  host,
  integer,
  literal,
  named,
  optionalFile,
  optionalPort,
  retention,
  settingGroup,
} from '../setting-kinds.js';

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

export const OPERATION_SETTINGS = {
  ...settingGroup('Operation', EVERY_PROCESS, {
    logLevel: literal('info', LOG_LEVELS).describe('Lowest level that is logged.'),
    logLevels: named('comma-separated list of LOGGER=LEVEL', LOG_LEVELS).describe(
      'Levels of single loggers, instead of LOG_LEVEL. A logger has the name in the field `logger` of its lines: Http=warn omits requests, ScheduleTimer=debug adds details.',
    ),
    logFormat: literal('auto', ['auto', 'json', 'text']).describe(
      'Format of the log: one JSON object per line, or readable text. auto: text on a terminal, JSON everywhere else.',
    ),
    metricsHost: host('127.0.0.1').describe(
      'Address that API_METRICS_PORT, INGRESS_METRICS_PORT and PROCESSOR_METRICS_PORT bind. Metrics need no token: do not expose them.',
    ),
    apiMetricsPort: optionalPort().describe(
      'Port on which the API serves /metrics for Prometheus; 0 selects a free port. Default: none. The port of the API itself does not serve metrics.',
    ),
    ingressMetricsPort: optionalPort().describe(
      'Port on which the ingress serves /metrics for Prometheus; 0 selects a free port. Default: none.',
    ),
    processorMetricsPort: optionalPort().describe(
      'Port on which the processor serves /metrics for Prometheus; 0 selects a free port. Default: none.',
    ),
    modelsFile: optionalFile().describe(
      'JSON file with the models that GET /agent/models lists, instead of the built-in list: {"models": [{"id", "display_name", "provider", "vision_supported"}]}.',
    ),
    harnessesFile: optionalFile().describe(
      'JSON file that adds agents and changes the built-in definitions of known agents; see docs/harnesses.md. Read by API, processor and workers.',
    ),
    personalRuns: literal('members', ['everybody', 'members', 'nobody']).describe(
      'Who may create personal runs and schedules, which execute commands on the machines of the installation: every user, users with the role member, admin or owner in a team, or nobody. See docs/roles.md.',
    ),
    apiRatePerMinute: integer(600, 0, 10_000_000).describe(
      'Requests a minute and token, per API process; 0 switches the limit off.',
    ),
    requestTimeout: duration('30s', '1s', '10min').describe('Maximum time to receive a request.'),
    runListTimeout: duration('5s', '100ms', '5min').describe(
      'Maximum time to query one page of a list of runs; then the response is a 503.',
    ),
    shutdownGrace: duration('10s', '0s', '30min').describe(
      'How long a stopping process waits for started runs before it ends them.',
    ),
    signedUrlTtl: duration('15min', '1s', '7d').describe('How long a download link is valid.'),
    sessionTtl: duration('7d', '1min', '90d').describe('How long a browser stays signed in to the console.'),
    idempotencyKeyTtl: duration('24h', '1min', '30d').describe('How long an Idempotency-Key is stored.'),
    apiRejectionRateLimit: integer(20, 0, 1_000_000).describe(
      'Requests without a valid token from one address (a /64 network of IPv6) that one API process answers per second; further responses are delayed by up to 2 s. 0 sets no limit.',
    ),
    allowTestClock: boolean(false).describe(
      'Allows tests to move the clock of this installation. Never set it in production.',
      'HEADRACE_TEST_CLOCK',
    ),
  }),
  ...settingGroup('Live events', ['API'], {
    livePoll: duration('250ms', '20ms', '1min').describe(
      'Interval at which a process queries for new events of each run that clients watch live, longer when queries take long; many runs are queried in up to 8 groups at different times.',
    ),
    liveMaxStreams: integer(2000, 1, 100_000).describe(
      'Maximum number of concurrent event streams of one API process.',
    ),
    liveMaxStreamsPerPrincipal: integer(50, 1, 100_000).describe(
      'Maximum number of concurrent event streams of one user or service account in one API process.',
    ),
    liveHeartbeat: duration('15s', '50ms', '5min').describe(
      'Interval of heartbeats on an event stream without events.',
    ),
    liveAuthRecheckInterval: duration('30s', '50ms', '1h').describe(
      'Interval at which the access of the client of an event stream to its run is checked again.',
    ),
    liveWriteTimeout: duration('30s', '50ms', '10min').describe(
      'An event stream whose client reads nothing for this long is closed; the client can resume it.',
    ),
  }),
  ...settingGroup('Retention', ['processor'], {
    retainRuns: retention().describe(
      'Ended runs without a change for this long are deleted with all their data. Default: never.',
      'RETENTION_RUNS',
    ),
    retainTranscripts: retention().describe(
      'Raw transcripts of ended runs are deleted after this time; such a run can no longer be resumed with its memory. Default: never.',
      'RETENTION_TRANSCRIPTS',
    ),
    retainTimelines: retention().describe(
      'Timelines and conversations of ended runs are deleted after this time; the runs themselves stay. Default: never.',
      'RETENTION_TIMELINE',
    ),
  }),
} as const;
