import { availableParallelism } from 'node:os';
import {
  addressRanges,
  boolean,
  containerNetwork,
  decimal,
  directories,
  duration,
  engineAddress,
  host,
  integer,
  literal,
  machineDependent,
  optionalBucket,
  optionalFile,
  optionalInteger,
  optionalPath,
  optionalPort,
  optionalSecret,
  optionalUrl,
  path,
  port,
  publicOrigin,
  repositoryBase,
  retention,
  secretKey,
  secretKeys,
  type SettingKind,
  text,
} from './setting-kinds.js';

export interface SettingDefinition<T> {
  /** Name of the environment variable. */
  readonly env: string;
  readonly kind: SettingKind<T>;
  /** Shown in `.env.example`: what it does, in one or two sentences. */
  readonly doc: string;
  readonly group: string;
}

const define = <T>(group: string, env: string, kind: SettingKind<T>, doc: string): SettingDefinition<T> => ({
  env,
  kind,
  doc,
  group,
});

const defaultSlots = Math.max(2, availableParallelism() * 2);
const MIB = 1_048_576;

/** Every setting of Headrace: environment name, type, default, unit and meaning, defined once. */
export const SETTINGS = {
  dataDir: define(
    'Where things are',
    'HEADRACE_DATA_DIR',
    path('.headrace'),
    'Directory of the embedded database, stored objects, workspaces and generated keys; relative to the working directory.',
  ),
  host: define(
    'Where things are',
    'HOST',
    host('127.0.0.1'),
    'Address both listeners bind. Loopback by default: put a TLS-terminating proxy in front, or set 0.0.0.0 knowingly.',
  ),
  port: define('Where things are', 'PORT', port(3000), 'Port of the API; 0 picks a free one.'),
  ingressPort: define(
    'Where things are',
    'INGRESS_PORT',
    port(3001),
    'Port of the webhook ingress; 0 picks a free one.',
  ),
  publicUrl: define(
    'Where things are',
    'PUBLIC_URL',
    publicOrigin(),
    'Origin under which callers reach the API, without a trailing slash. Default: http://HOST:PORT.',
  ),
  ingressPublicUrl: define(
    'Where things are',
    'INGRESS_PUBLIC_URL',
    publicOrigin(),
    'Origin under which senders reach the ingress. Default: http://HOST:INGRESS_PORT.',
  ),
  runnerApiUrl: define(
    'Where things are',
    'RUNNER_API_URL',
    publicOrigin(),
    'Origin under which runners started by the processor reach the API. Default: http://127.0.0.1:PORT; with TLS_CERT_FILE http://127.0.0.1:RUNNER_API_PORT.',
  ),
  runnerApiPort: define(
    'Where things are',
    'RUNNER_API_PORT',
    port(3002),
    'With TLS_CERT_FILE and without RUNNER_API_URL: port on 127.0.0.1 where the API serves the runners of this machine over HTTP, and nobody else; 0 picks a free one.',
  ),
  trustedProxies: define(
    'Where things are',
    'TRUSTED_PROXIES',
    addressRanges(),
    'Addresses or CIDR ranges, comma-separated, whose X-Forwarded-* headers are believed.',
  ),
  tlsCertFile: define(
    'Where things are',
    'TLS_CERT_FILE',
    optionalFile(),
    'PEM certificate chain; with TLS_KEY_FILE the API and the ingress speak HTTPS themselves.',
  ),
  tlsKeyFile: define(
    'Where things are',
    'TLS_KEY_FILE',
    optionalFile(),
    'PEM private key that belongs to TLS_CERT_FILE.',
  ),

  databaseUrl: define(
    'Stores',
    'DATABASE_URL',
    optionalUrl(['postgres:', 'postgresql:']),
    'PostgreSQL 16 or newer. Default: an embedded PostgreSQL under HEADRACE_DATA_DIR.',
  ),
  queueUrl: define(
    'Stores',
    'QUEUE_URL',
    optionalUrl(['redis:', 'rediss:', 'postgres:', 'postgresql:']),
    'Queue backend: a Redis URL, or a PostgreSQL one. Default: the database itself.',
  ),
  databasePoolSize: define(
    'Stores',
    'DATABASE_POOL_SIZE',
    integer(16, 2, 200),
    'Database connections of one process for requests.',
  ),
  databaseQueryTimeout: define(
    'Stores',
    'DATABASE_QUERY_TIMEOUT',
    duration('30s', '1s', '10min'),
    'How long one database statement may take; then the server cancels it. Where the server does not answer, the process gives up at most 5 s later. The caller gets a 503.',
  ),
  databaseStartTimeout: define(
    'Stores',
    'DATABASE_START_TIMEOUT',
    duration('1min', '0s', '1h'),
    'How long a starting process waits for a database that does not answer, such as one that is starting or recovering.',
  ),
  queuePoolSize: define(
    'Stores',
    'QUEUE_POOL_SIZE',
    integer(8, 6, 100),
    'Database connections of one process for queues, when queues live in PostgreSQL.',
  ),
  secretsKey: define(
    'Stores',
    'SECRETS_KEY',
    secretKey(),
    'At least 32 characters; signs execution tokens, cursors and download links, and encrypts managed secrets. Default: generated once into HEADRACE_DATA_DIR. Every process of one installation needs the same one.',
  ),
  secretsKeyPrevious: define(
    'Stores',
    'SECRETS_KEY_PREVIOUS',
    secretKeys(),
    'Other keys, comma-separated, that still open what was sealed or signed under them, while SECRETS_KEY is changed; see docs/operations/secrets.md.',
  ),
  objectStoreUrl: define(
    'Stores',
    'OBJECT_STORE_URL',
    optionalBucket(),
    'Where transcripts, artifacts and attachments are kept: an S3 bucket. Default: on disk under HEADRACE_DATA_DIR.',
  ),
  s3Endpoint: define(
    'Stores',
    'S3_ENDPOINT',
    publicOrigin(),
    'Origin of an S3-compatible service; callers download from it too. Default: Amazon S3.',
  ),
  s3Region: define(
    'Stores',
    'S3_REGION',
    text(''),
    'Region of the bucket. Default: AWS_REGION or the shared AWS configuration; us-east-1 with S3_ENDPOINT.',
  ),
  s3ForcePathStyle: define(
    'Stores',
    'S3_FORCE_PATH_STYLE',
    boolean(false),
    'Puts the bucket into the path instead of the host name; most S3-compatible services want that.',
  ),
  s3AccessKeyId: define(
    'Stores',
    'S3_ACCESS_KEY_ID',
    optionalSecret(),
    'With S3_SECRET_ACCESS_KEY: the key to sign with. Default: what the AWS SDK finds, such as the role of the machine.',
  ),
  s3SecretAccessKey: define('Stores', 'S3_SECRET_ACCESS_KEY', optionalSecret(), 'Belongs to S3_ACCESS_KEY_ID.'),

  logLevel: define(
    'Operation',
    'LOG_LEVEL',
    literal('info', ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']),
    'Lowest level that is logged.',
  ),
  logFormat: define(
    'Operation',
    'LOG_FORMAT',
    literal('auto', ['auto', 'json', 'text']),
    'Format of the log: one JSON object a line, or lines of text for people. auto: text on a terminal, json everywhere else.',
  ),
  metricsHost: define(
    'Operation',
    'METRICS_HOST',
    host('127.0.0.1'),
    'Address that API_METRICS_PORT, INGRESS_METRICS_PORT and PROCESSOR_METRICS_PORT bind. They take no token: keep them inside.',
  ),
  apiMetricsPort: define(
    'Operation',
    'API_METRICS_PORT',
    optionalPort(),
    'Port on which the API serves /metrics for Prometheus; 0 picks a free one. Default: none. The port of the API itself does not serve them.',
  ),
  ingressMetricsPort: define(
    'Operation',
    'INGRESS_METRICS_PORT',
    optionalPort(),
    'Port on which the ingress serves /metrics for Prometheus; 0 picks a free one. Default: none.',
  ),
  processorMetricsPort: define(
    'Operation',
    'PROCESSOR_METRICS_PORT',
    optionalPort(),
    'Port on which the processor serves /metrics for Prometheus; 0 picks a free one. Default: none.',
  ),
  modelsFile: define(
    'Operation',
    'MODELS_FILE',
    optionalFile(),
    'JSON file with the models that GET /agent/models offers, instead of the built-in list: {"models": [{"id", "display_name", "provider", "vision_supported"}]}.',
  ),
  harnessesFile: define(
    'Operation',
    'HARNESSES',
    optionalFile(),
    'JSON file with agents of your own, and with what is to be different for known ones; see docs/harnesses.md. API, processor and workers read it.',
  ),
  personalRuns: define(
    'Operation',
    'PERSONAL_RUNS',
    literal('members', ['everybody', 'members', 'nobody']),
    'Who may create personal runs and schedules, which execute commands where runs execute: every user, users with the role member, admin or owner on a team, or nobody. See docs/roles.md.',
  ),
  apiRatePerMinute: define(
    'Operation',
    'API_RATE_PER_MINUTE',
    integer(600, 0, 10_000_000),
    'Requests a minute and token, per API process; 0 switches the limit off.',
  ),
  requestTimeout: define(
    'Operation',
    'REQUEST_TIMEOUT',
    duration('30s', '1s', '10min'),
    'How long a request may take to arrive.',
  ),
  listTimeout: define(
    'Operation',
    'LIST_TIMEOUT',
    duration('5s', '100ms', '5min'),
    'How long one page of a list of runs may be searched for; beyond that the answer is a 503.',
  ),
  shutdownGrace: define(
    'Operation',
    'SHUTDOWN_GRACE',
    duration('10s', '0s', '30min'),
    'How long a stopping process waits for started runs before it ends them.',
  ),
  signedUrlTtl: define('Operation', 'SIGNED_URL_TTL', duration('15min', '1s', '7d'), 'How long a download link works.'),
  idempotencyKeyTtl: define(
    'Operation',
    'IDEMPOTENCY_KEY_TTL',
    duration('24h', '1min', '30d'),
    'How long an Idempotency-Key is remembered.',
  ),
  livePoll: define(
    'Operation',
    'LIVE_POLL',
    duration('250ms', '20ms', '1min'),
    'How often a process looks for news of the runs that somebody watches live; one statement for all of them.',
  ),
  liveMaxStreams: define(
    'Operation',
    'LIVE_MAX_STREAMS',
    integer(2000, 1, 100_000),
    'Event streams that one API process serves at the same time.',
  ),
  liveMaxStreamsPerPrincipal: define(
    'Operation',
    'LIVE_MAX_STREAMS_PER_PRINCIPAL',
    integer(50, 1, 100_000),
    'Event streams of one user or service account in one API process.',
  ),
  liveHeartbeat: define(
    'Operation',
    'LIVE_HEARTBEAT',
    duration('15s', '50ms', '5min'),
    'How often an event stream says that it is still there when nothing happens.',
  ),
  apiRejectionRateLimit: define(
    'Operation',
    'API_REJECTION_RATE_LIMIT',
    integer(20, 0, 1_000_000),
    'Requests without a valid token that one API process answers within a second for one address (a /64 network of IPv6); answers beyond that wait up to 2 s. 0: no limit.',
  ),
  liveRecheck: define(
    'Operation',
    'LIVE_RECHECK',
    duration('30s', '50ms', '1h'),
    'How often it is asked again whether the caller of an event stream may still see the run.',
  ),
  liveStall: define(
    'Operation',
    'LIVE_STALL',
    duration('30s', '50ms', '10min'),
    'An event stream whose reader takes nothing for this long is closed; the reader can resume.',
  ),
  retainRuns: define(
    'Operation',
    'RETENTION_RUNS',
    retention(),
    'Ended runs that nothing changed for this long are deleted with everything that belongs to them. Default: never.',
  ),
  retainTranscripts: define(
    'Operation',
    'RETENTION_TRANSCRIPTS',
    retention(),
    'Raw transcripts of ended runs are deleted after this long; such a run can no longer be resumed with its memory. Default: never.',
  ),
  retainTimelines: define(
    'Operation',
    'RETENTION_TIMELINE',
    retention(),
    'Timelines and conversations of ended runs are deleted after this long; the runs themselves stay. Default: never.',
  ),
  notifyAllowPrivate: define(
    'Operation',
    'NOTIFY_ALLOW_PRIVATE',
    addressRanges(),
    'Addresses or CIDR ranges, comma-separated, that notifications may be sent to although they are not public.',
  ),
  notifyAllowHttp: define(
    'Operation',
    'NOTIFY_ALLOW_HTTP',
    boolean(false),
    'Lets notifications go to http:// addresses too, which anybody on the way can read.',
  ),
  notifyPoll: define(
    'Operation',
    'NOTIFY_POLL',
    duration('1s', '50ms', '1min'),
    'How often the processor looks for notifications that are due when nothing nudges it.',
  ),
  notifyTimeout: define(
    'Operation',
    'NOTIFY_TIMEOUT',
    duration('10s', '50ms', '1min'),
    'How long one attempt to deliver a notification may take, from looking up the name to the answer.',
  ),
  notifyDisableAfter: define(
    'Operation',
    'NOTIFY_DISABLE_AFTER',
    duration('5d', '1min', '90d'),
    'A notification webhook that has taken nothing for this long, in at least ten attempts, is disabled.',
  ),
  notifyLogRetention: define(
    'Operation',
    'NOTIFY_LOG_RETENTION',
    duration('30d', '1h', '3650d'),
    'How long the deliveries of notifications are listed after they ended.',
  ),
  allowTestClock: define(
    'Operation',
    'HEADRACE_TEST_CLOCK',
    boolean(false),
    'Lets a test move the clock of this installation. Never in production.',
  ),

  ingressBodyTimeout: define(
    'Webhooks',
    'INGRESS_BODY_TIMEOUT',
    duration('15s', '100ms', '1min'),
    'How long a delivery may take to arrive at the ingress.',
  ),
  ingressMaxBodies: define(
    'Webhooks',
    'INGRESS_MAX_BODIES',
    integer(256, 4, 10_000),
    'Deliveries whose bodies one ingress process reads at the same time, each up to 256 KB; one webhook gets a quarter of them. When they run short, a sender address that holds more than an eighth yields to the others.',
  ),
  ingressRefusalRate: define(
    'Webhooks',
    'INGRESS_REFUSAL_RATE',
    integer(1000, 0, 1_000_000),
    'Refused requests that one ingress process answers within a second; what is beyond waits up to 2 s for its answer, so that floods take little from deliveries. 0: no limit.',
  ),
  webhookRateLimit: define(
    'Webhooks',
    'WEBHOOK_RATE_LIMIT',
    integer(60, 1, 6000),
    'Deliveries of one webhook within WEBHOOK_RATE_WINDOW, over all ingress processes; the next one gets a 429.',
  ),
  webhookRateWindow: define(
    'Webhooks',
    'WEBHOOK_RATE_WINDOW',
    duration('1min', '1ms', '1h'),
    'The time that WEBHOOK_RATE_LIMIT counts over, sliding.',
  ),
  webhookAuthFailures: define(
    'Webhooks',
    'WEBHOOK_AUTH_FAILURES',
    integer(20, 1, 10_000),
    'Failed authentications of one webhook from one address within WEBHOOK_AUTH_FAILURE_WINDOW, per ingress process; then that address gets 429.',
  ),
  webhookAuthFailureWindow: define(
    'Webhooks',
    'WEBHOOK_AUTH_FAILURE_WINDOW',
    duration('5min', '1s', '1d'),
    'The time that WEBHOOK_AUTH_FAILURES counts over, sliding.',
  ),
  webhookEvaluationPoll: define(
    'Webhooks',
    'WEBHOOK_EVALUATION_POLL',
    duration('1s', '50ms', '1min'),
    'How often the processor looks for accepted deliveries that are not evaluated yet when nothing nudges it.',
  ),
  webhookLogRetention: define(
    'Webhooks',
    'WEBHOOK_LOG_RETENTION',
    duration('7d', '7d', '3650d'),
    'How long deliveries stay in the log of their webhook at least.',
  ),
  webhookLogKeep: define(
    'Webhooks',
    'WEBHOOK_LOG_KEEP',
    integer(50, 50, 10_000),
    'The latest deliveries of a webhook, and its latest accepted ones, that stay in the log however old they are.',
  ),
  webhookIdentityRetention: define(
    'Webhooks',
    'WEBHOOK_IDENTITY_RETENTION',
    duration('30d', '1d', '3650d'),
    'How long a delivery that comes again is recognised as a duplicate.',
  ),

  scheduleCatchUp: define(
    'Schedules',
    'SCHEDULE_CATCH_UP',
    duration('1h', '1min', '30d'),
    'After an outage the latest due time of a schedule is made up for if it is younger than this; the others are recorded as missed.',
  ),
  schedulePauseAfter: define(
    'Schedules',
    'SCHEDULE_PAUSE_AFTER',
    integer(5, 1, 1000),
    'Due times in a row that could start no run, for a reason that only people can mend, after which a schedule pauses itself.',
  ),
  schedulePoll: define(
    'Schedules',
    'SCHEDULE_POLL',
    duration('1s', '50ms', '10s'),
    'How often the processor looks for schedules that are due.',
  ),

  githubUrl: define(
    'Repositories',
    'GITHUB_URL',
    repositoryBase('https://github.com'),
    'Where github_repos of environments are cloned from, as GITHUB_URL/owner/repo.git: GitHub Enterprise Server, or a directory below GIT_LOCAL_ROOTS.',
  ),
  gitLocalRoots: define(
    'Repositories',
    'GIT_LOCAL_ROOTS',
    directories(),
    'Directories, comma-separated, whose repositories environments may name by path or file:// URL. Whoever manages an environment can read them all. Default: none.',
  ),
  gitAllowPrivate: define(
    'Repositories',
    'GIT_ALLOW_PRIVATE',
    addressRanges(),
    'Addresses or CIDR ranges, comma-separated, from which the API and the processor fetch repositories although they are not public. GITHUB_URL is always allowed.',
  ),
  gitCloneTimeout: define(
    'Repositories',
    'GIT_CLONE_TIMEOUT',
    duration('10min', '1s', '6h'),
    'Time that cloning one repository may take.',
  ),
  gitMaxRepositoryBytes: define(
    'Repositories',
    'GIT_MAX_REPOSITORY_BYTES',
    integer(5 * 1024 * MIB, MIB, Number.MAX_SAFE_INTEGER),
    'Bytes that the mirror of one repository may take below HEADRACE_DATA_DIR.',
  ),
  gitMirrorsMaxBytes: define(
    'Repositories',
    'GIT_MIRRORS_MAX_BYTES',
    integer(20 * 1024 * MIB, MIB, Number.MAX_SAFE_INTEGER),
    'Bytes that all mirrors of repositories may take together. Beyond it the longest unused ones are removed; those that are in use stay.',
  ),

  skillsCache: define(
    'Skills',
    'SKILLS_CACHE',
    duration('5min', '0s', '24h'),
    'How long the skills of a repository are shown before it is asked for news.',
  ),
  githubSkills: define(
    'Skills',
    'GITHUB_SKILLS',
    literal('mirror', ['mirror', 'api']),
    'How skills of GitHub’s repositories are read: from a mirror that git keeps below HEADRACE_DATA_DIR, or by GitHub’s API.',
  ),
  githubApiUrl: define(
    'Skills',
    'GITHUB_API_URL',
    publicOrigin(),
    'GitHub’s API, for GITHUB_SKILLS=api; of GitHub Enterprise Server https://HOST/api/v3. Default: https://api.github.com.',
  ),
  githubApiToken: define(
    'Skills',
    'GITHUB_API_TOKEN',
    optionalSecret(),
    'Token for GitHub’s API where an environment names no secret: only raises the rate, private repositories are not read with it.',
  ),

  maxConcurrentRuns: define(
    'Execution',
    'MAX_CONCURRENT_RUNS',
    machineDependent(integer(defaultSlots, 1, 100_000)),
    'Hosted runs that execute at the same time, over all teams. Default: twice the number of processors.',
  ),
  maxConcurrentRunsPerTeam: define(
    'Execution',
    'MAX_CONCURRENT_RUNS_PER_TEAM',
    optionalInteger(1, 100_000),
    'Hosted runs of one team (or of one person, for personal runs) that execute at the same time, where `headrace team update --max-concurrent-runs` sets no other limit for the team. Default: half of MAX_CONCURRENT_RUNS, rounded up, so that one owner never holds all slots.',
  ),
  defaultMaxRuntime: define(
    'Execution',
    'DEFAULT_MAX_RUNTIME',
    duration('24h', '0s', '31d'),
    'Working time after which a hosted run that sets no `max_runtime_minutes` is ended as FAILED with budget_exceeded, so that an agent that hangs releases its slot; 0s sets no limit.',
  ),
  maxIdleSessions: define(
    'Execution',
    'MAX_IDLE_SESSIONS',
    machineDependent(integer(defaultSlots, 0, 100_000)),
    'Sessions that stay open after their turn or in a debug window; the oldest waiting one beyond that is closed, and a later follow-up resumes it from its transcript. Default: twice the number of processors.',
  ),
  leaseTtl: define(
    'Execution',
    'LEASE_TTL',
    duration('90s', '1s', '10min'),
    'A runner that is not heard of for this long stops its agent; the run is given up a third of it later.',
  ),
  computeCostPerHour: define(
    'Execution',
    'COMPUTE_COST_PER_HOUR',
    decimal(0, 0, 1_000_000),
    'US dollars per hour of run time of hosted runs: `compute_cost_usd` of `request_usage`. 0 leaves it out.',
  ),
  selfHostedCancel: define(
    'Execution',
    'SELF_HOSTED_CANCEL',
    boolean(false),
    'Lets callers cancel runs on self-hosted workers, which are then told to stop. Without it such a cancel is answered 422.',
  ),
  claimDeadline: define(
    'Execution',
    'CLAIM_DEADLINE',
    duration('15s', '1s', '10min'),
    'How long an offered run waits for its runner before it goes back to the queue. While the executor sees that the runner is alive, up to 5 minutes.',
  ),
  placementPoll: define(
    'Execution',
    'PLACEMENT_POLL',
    duration('250ms', '50ms', '1min'),
    'How often the queue is looked at when nothing nudges; the safety net of placement.',
  ),
  approvalTimeout: define(
    'Execution',
    'APPROVAL_TIMEOUT',
    duration('30min', '1s', '7d'),
    'How long a permission request waits for a person before it is denied.',
  ),
  cancelStep: define(
    'Execution',
    'CANCEL_STEP',
    duration('2s', '100ms', '1min'),
    'Time between the rungs of the stop ladder (ask the agent, SIGTERM, SIGKILL) when a run is cancelled.',
  ),
  agentProgressTimeout: define(
    'Execution',
    'AGENT_PROGRESS_TIMEOUT',
    duration('30min', '1s', '1d'),
    'How long an agent may report no progress in a turn, while no tool call and no permission request is open, before the run fails.',
  ),
  setupCommandTimeout: define(
    'Execution',
    'SETUP_COMMAND_TIMEOUT',
    duration('10min', '1s', '6h'),
    'Time one set-up command may take.',
  ),
  maxRunDepth: define(
    'Execution',
    'MAX_RUN_DEPTH',
    integer(5, 1, 32),
    'How many ancestors a run may have: runs that were created with parent_run_id, one below the other.',
  ),
  maxWorkspaceBytes: define(
    'Execution',
    'MAX_WORKSPACE_BYTES',
    integer(10 * 1024 * MIB, MIB, Number.MAX_SAFE_INTEGER),
    'Bytes a workspace may occupy on disk; measured periodically.',
  ),
  maxOutputBytes: define(
    'Execution',
    'MAX_OUTPUT_BYTES',
    integer(64 * MIB, 65_536, 1024 * MIB),
    'Bytes of events one execution may report; what is beyond is left out of the conversation. The server keeps it with a margin of a quarter.',
  ),
  maxArtifactBytes: define(
    'Execution',
    'MAX_ARTIFACT_BYTES',
    integer(64 * MIB, 1024, 5 * 1024 * MIB),
    'Bytes of one file or screenshot that an agent hands in as an artifact.',
  ),
  agentMaxProcesses: define(
    'Execution',
    'AGENT_MAX_PROCESSES',
    integer(4096, 64, 1_000_000),
    'Processes and threads that one execution of the process executor may have; only as root, with prlimit of util-linux.',
  ),
  maxRunArtifactBytes: define(
    'Execution',
    'MAX_ARTIFACT_BYTES_PER_RUN',
    integer(1024 * MIB, 1024, 1024 * 1024 * MIB),
    'Bytes of all files, screenshots and plans that the agents of one run hand in as artifacts.',
  ),
  workspacesDir: define(
    'Execution',
    'WORKSPACES_DIR',
    optionalPath(),
    'Where workspaces are made. Default: under HEADRACE_DATA_DIR, or under /var/tmp when the server runs as root and other users cannot reach the data directory.',
  ),
  agentUidBase: define(
    'Execution',
    'AGENT_UID_BASE',
    integer(0, 0, 2_000_000_000),
    'As root, each execution runs under a numeric user of its own, counted from here; 0 derives a range of this installation’s own from SECRETS_KEY.',
  ),
  agentUidCount: define(
    'Execution',
    'AGENT_UID_COUNT',
    integer(50_000, 1, 1_000_000),
    'How many numeric users are used in turn.',
  ),
  executor: define(
    'Execution',
    'EXECUTOR',
    text('process'),
    'Where hosted runs are carried out: process (on this machine), docker (each in a container of its environment’s image), or an executor that was added.',
  ),

  workerSilence: define(
    'Self-hosted workers',
    'WORKER_SILENCE',
    duration('90s', '1s', '10min'),
    'A worker’s connection without a sign of life for this long is dropped. The service pings each third of it and notes who is connected each ninth.',
  ),
  workerReconnectTimeout: define(
    'Self-hosted workers',
    'WORKER_RECONNECT_TIMEOUT',
    duration('75s', '0s', '1h'),
    'How long workers have to connect again after an outage of all API processes before runs that they execute are given up. The published daemon waits up to 60 s between attempts.',
  ),
  workerAdoptionTimeout: define(
    'Self-hosted workers',
    'WORKER_ADOPTION_TIMEOUT',
    duration('5min', '0s', '7d'),
    'How long a run whose runner has not called is kept after its worker, which does not report what it executes, has connected again. See docs/self-hosted-runs.md.',
  ),
  workerSidecarImage: define(
    'Self-hosted workers',
    'WORKER_SIDECAR_IMAGE',
    text(''),
    'Image whose files the docker and kubernetes backends of the published daemon mount at /agent; it has to contain /entrypoint.sh. Sent to workers that report no slots; default: none.',
  ),
  workerMaxConnections: define(
    'Self-hosted workers',
    'WORKER_MAX_CONNECTIONS',
    integer(10_000, 1, 1_000_000),
    'Connections of workers that one API process holds; the next one gets a 503. Its limit of open files has to allow as many.',
  ),
  workerMaxTeamConnections: define(
    'Self-hosted workers',
    'WORKER_MAX_TEAM_CONNECTIONS',
    integer(5_000, 1, 1_000_000),
    'Connections of one team’s workers that one API process holds; the next one gets a 429.',
  ),

  dockerHost: define(
    'Docker executor',
    'DOCKER_HOST',
    engineAddress('unix:///var/run/docker.sock'),
    'Where the Docker Engine listens; see docs/operations/docker-executor.md.',
  ),
  dockerCertPath: define(
    'Docker executor',
    'DOCKER_CERT_PATH',
    optionalPath(),
    'Directory with ca.pem, cert.pem and key.pem: TLS with a client certificate, for tcp://.',
  ),
  dockerDefaultImage: define(
    'Docker executor',
    'DOCKER_DEFAULT_IMAGE',
    text('node:22-bookworm'),
    'Image of runs whose environment names none, or that have no environment. Images need glibc and libstdc++.',
  ),
  dockerPull: define(
    'Docker executor',
    'DOCKER_PULL',
    literal('missing', ['missing', 'always', 'never']),
    'When an image is pulled: when the engine has none of this name, before every execution, or never.',
  ),
  dockerPullTimeout: define(
    'Docker executor',
    'DOCKER_PULL_TIMEOUT',
    duration('10min', '1s', '6h'),
    'How long one pull may take.',
  ),
  dockerAuthFile: define(
    'Docker executor',
    'DOCKER_AUTH_FILE',
    optionalFile(),
    'Credentials of registries, in the form that docker login writes (config.json with auths). Read with every pull.',
  ),
  dockerMemoryBytes: define(
    'Docker executor',
    'DOCKER_MEMORY_BYTES',
    integer(4096 * MIB, 256 * MIB, Number.MAX_SAFE_INTEGER),
    'Memory of one execution; it gets no swap.',
  ),
  dockerCpus: define(
    'Docker executor',
    'DOCKER_CPUS',
    decimal(2, 0.1, 4096),
    'Processors of one execution; at most those that the engine’s machine has.',
  ),
  dockerPids: define(
    'Docker executor',
    'DOCKER_PIDS',
    integer(1024, 64, 4_194_304),
    'Processes and threads of one execution.',
  ),
  dockerDiskBytes: define(
    'Docker executor',
    'DOCKER_DISK_BYTES',
    integer(0, 0, Number.MAX_SAFE_INTEGER),
    'Bytes that a container may write, for storage drivers that can limit it; 0 sets no limit but MAX_WORKSPACE_BYTES.',
  ),
  dockerNetwork: define(
    'Docker executor',
    'DOCKER_NETWORK',
    containerNetwork('bridge'),
    'Network of the containers: bridge, or one made for them, such as one that reaches the API and a proxy only. Never none or host.',
  ),
  dockerUser: define(
    'Docker executor',
    'DOCKER_USER',
    text(''),
    'User, or user:group, that runner and agent have in the container. Default: the image’s own.',
  ),
  dockerRunnerSource: define(
    'Docker executor',
    'DOCKER_RUNNER_SOURCE',
    text(''),
    'Directory or volume on the engine’s machine with bin/node, dist, node_modules and package.json of this version. Default: the files that the processor runs from, for an engine on the same machine.',
  ),
} as const satisfies Record<string, SettingDefinition<unknown>>;

export type SettingValues = {
  readonly [K in keyof typeof SETTINGS]: (typeof SETTINGS)[K] extends SettingDefinition<infer T> ? T : never;
};

/* eslint-disable @typescript-eslint/no-unsafe-declaration-merging -- A class for Nest to inject by, whose fields are those of SETTINGS; parseSettings makes the only instances. */
/** The one frozen object of all settings; the dependency-injection token too. Durations are milliseconds. */
export abstract class Settings {}
export interface Settings extends SettingValues {
  readonly publicUrl: string;
  readonly ingressPublicUrl: string;
  readonly runnerApiUrl: string;
  readonly maxConcurrentRunsPerTeam: number;
}
