import {
  addressRanges,
  boolean,
  duration,
  host,
  integer,
  optionalBucket,
  optionalFile,
  optionalSecret,
  optionalUrl,
  path,
  port,
  publicOrigin,
  secretKey,
  secretKeys,
  text,
  setting,
  settingGroup,
} from '../setting-kinds.js';

export const INSTALLATION_SETTINGS = {
  ...settingGroup('Network and paths', {
    dataDir: setting(
      path('.headrace'),
      'Directory of the embedded database, stored objects, workspaces and generated keys; relative to the working directory.',
      'HEADRACE_DATA_DIR',
    ),
    host: setting(
      host('127.0.0.1'),
      'Address that the API and the ingress bind. The default is loopback; put a proxy that terminates TLS in front of it before you set 0.0.0.0.',
    ),
    port: setting(port(3000), 'Port of the API; 0 selects a free port.'),
    ingressPort: setting(port(3001), 'Port of the webhook ingress; 0 selects a free port.'),
    publicUrl: setting(
      publicOrigin(),
      'Origin under which clients reach the API, without a trailing slash. Default: http://HOST:PORT.',
    ),
    ingressPublicUrl: setting(
      publicOrigin(),
      'Origin under which webhook senders reach the ingress. Default: http://HOST:INGRESS_PORT.',
    ),
    runnerApiUrl: setting(
      publicOrigin(),
      'Origin under which runners started by the processor reach the API. Default: http://127.0.0.1:PORT; with TLS_CERT_FILE http://127.0.0.1:RUNNER_API_PORT.',
    ),
    runnerApiPort: setting(
      port(3002),
      'With TLS_CERT_FILE and without RUNNER_API_URL: port on 127.0.0.1 where the API serves the runners of this machine over HTTP; 0 selects a free port.',
    ),
    trustedProxies: setting(
      addressRanges(),
      'Addresses or CIDR ranges, comma-separated, whose X-Forwarded-* headers are trusted.',
    ),
    tlsCertFile: setting(
      optionalFile(),
      'PEM certificate chain. With TLS_KEY_FILE the API and the ingress serve HTTPS.',
    ),
    tlsKeyFile: setting(optionalFile(), 'PEM private key of TLS_CERT_FILE.'),
  }),
  ...settingGroup('Data stores', {
    databaseUrl: setting(
      optionalUrl(['postgres:', 'postgresql:']),
      'PostgreSQL 16 or newer. Default: an embedded PostgreSQL under HEADRACE_DATA_DIR.',
    ),
    queueUrl: setting(
      optionalUrl(['redis:', 'rediss:', 'postgres:', 'postgresql:']),
      'Queue backend: the URL of a Redis or a PostgreSQL. Default: the database itself.',
    ),
    databasePoolSize: setting(integer(16, 2, 200), 'Database connections of one process for requests.'),
    databaseQueryTimeout: setting(
      duration('30s', '1s', '10min'),
      'Maximum duration of a database statement; then the server cancels it. If the server does not answer, the process stops waiting at most 5 s later. The client gets a 503.',
    ),
    databaseStartTimeout: setting(
      duration('1min', '0s', '1h'),
      'How long a starting process waits for a database that does not answer, for example while it starts or recovers.',
    ),
    queuePoolSize: setting(
      integer(8, 6, 100),
      'Database connections of one process for queues, when queues live in PostgreSQL.',
    ),
    secretsKey: setting(
      secretKey(),
      'At least 32 characters. Signs execution tokens, cursors and download links, and encrypts managed secrets. Default: generated once into HEADRACE_DATA_DIR. Every process of an installation needs the same key.',
    ),
    secretsKeyPrevious: setting(
      secretKeys(),
      'Previous keys, comma-separated, that still decrypt data and verify signatures while SECRETS_KEY is rotated; see docs/operations/secrets.md.',
    ),
    objectStoreUrl: setting(
      optionalBucket(),
      'S3 bucket for transcripts, artifacts and attachments. Default: files under HEADRACE_DATA_DIR.',
    ),
    s3Endpoint: setting(
      publicOrigin(),
      'Origin of an S3-compatible service; clients download from it too. Default: Amazon S3.',
    ),
    s3Region: setting(
      text(''),
      'Region of the bucket. Default: AWS_REGION or the shared AWS configuration; us-east-1 with S3_ENDPOINT.',
    ),
    s3ForcePathStyle: setting(
      boolean(false),
      'Puts the bucket into the path instead of the host name; most S3-compatible services need this.',
    ),
    s3AccessKeyId: setting(
      optionalSecret(),
      'With S3_SECRET_ACCESS_KEY: the access key. Default: the credentials that the AWS SDK finds, such as the role of the machine.',
    ),
    s3SecretAccessKey: setting(optionalSecret(), 'Secret of S3_ACCESS_KEY_ID.'),
  }),
} as const;
