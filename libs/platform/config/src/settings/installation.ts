import {
  EVERY_PROCESS,
  addressRanges,
  boolean,
  duration,
  host,
  integer,
  list,
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
  settingGroup,
} from '../setting-kinds.js';

export const INSTALLATION_SETTINGS = {
  ...settingGroup('Network and paths', EVERY_PROCESS, {
    dataDir: path('.headrace').describe(
      'Directory of the embedded database, stored objects, workspaces and generated keys; relative to the working directory.',
      'HEADRACE_DATA_DIR',
    ),
    host: host('127.0.0.1').describe(
      'Address that the API and the ingress bind. The default is loopback; put a proxy that terminates TLS in front of it before you set 0.0.0.0.',
    ),
    port: port(3000).describe('Port of the API; 0 selects a free port.'),
    ingressPort: port(3001).describe('Port of the webhook ingress; 0 selects a free port.'),
    publicUrl: publicOrigin().describe(
      'Origin under which clients reach the API, without a trailing slash. Default: http://HOST:PORT.',
    ),
    ingressPublicUrl: publicOrigin().describe(
      'Origin under which webhook senders reach the ingress. Default: http://HOST:INGRESS_PORT.',
    ),
    runnerApiUrl: publicOrigin().describe(
      'Origin under which runners started by the processor reach the API. Default: http://127.0.0.1:PORT; with TLS_CERT_FILE http://127.0.0.1:RUNNER_API_PORT.',
    ),
    runnerApiPort: port(3002).describe(
      'With TLS_CERT_FILE and without RUNNER_API_URL: port on 127.0.0.1 where the API serves the runners of this machine over HTTP; 0 selects a free port.',
    ),
    trustedProxies: addressRanges().describe(
      'Addresses or CIDR ranges, comma-separated, whose X-Forwarded-* headers are trusted.',
    ),
    tlsCertFile: optionalFile().describe(
      'PEM certificate chain. With TLS_KEY_FILE the API and the ingress serve HTTPS.',
    ),
    tlsKeyFile: optionalFile().describe('PEM private key of TLS_CERT_FILE.'),
  }),
  ...settingGroup('Plugins', EVERY_PROCESS, {
    plugins: list('comma-separated names of packages, and paths of files that begin with ./, ../ or /').describe(
      'Plugins that every process of the installation loads. Packages must be installed beside Headrace; paths are relative to the working directory. See docs/extending/plugins.md.',
      'HEADRACE_PLUGINS',
    ),
  }),
  ...settingGroup('Data stores', EVERY_PROCESS, {
    databaseUrl: optionalUrl(['postgres:', 'postgresql:']).describe(
      'PostgreSQL 16 or newer. Default: an embedded PostgreSQL under HEADRACE_DATA_DIR.',
    ),
    queueUrl: optionalUrl(['redis:', 'rediss:', 'postgres:', 'postgresql:']).describe(
      'Queue backend: the URL of a Redis or a PostgreSQL. Default: the database itself.',
    ),
    databasePoolSize: integer(16, 2, 200).describe('Database connections of one process for requests.'),
    databaseQueryTimeout: duration('30s', '1s', '10min').describe(
      'Maximum duration of a database statement; then the server cancels it. If the server does not answer, the process stops waiting at most 5 s later. The client gets a 503.',
    ),
    databaseStartTimeout: duration('1min', '0s', '1h').describe(
      'How long a starting process waits for a database that does not answer, for example while it starts or recovers.',
    ),
    queuePoolSize: integer(8, 6, 100).describe(
      'Database connections of one process for queues, when queues live in PostgreSQL.',
    ),
    secretsKey: secretKey().describe(
      'At least 32 characters. Signs execution tokens, cursors and download links, and encrypts managed secrets. Default: generated once into HEADRACE_DATA_DIR. Every process of an installation needs the same key.',
    ),
    secretsKeyPrevious: secretKeys().describe(
      'Previous keys, comma-separated, that still decrypt data and verify signatures while SECRETS_KEY is rotated; see docs/operations/secrets.md.',
    ),
    objectStoreUrl: optionalBucket().describe(
      'S3 bucket for transcripts, artifacts and attachments. Default: files under HEADRACE_DATA_DIR.',
    ),
    s3Endpoint: publicOrigin().describe(
      'Origin of an S3-compatible service; clients download from it too. Default: Amazon S3.',
    ),
    s3Region: text('').describe(
      'Region of the bucket. Default: AWS_REGION or the shared AWS configuration; us-east-1 with S3_ENDPOINT.',
    ),
    s3ForcePathStyle: boolean(false).describe(
      'Puts the bucket into the path instead of the host name; most S3-compatible services need this.',
    ),
    s3AccessKeyId: optionalSecret().describe(
      'With S3_SECRET_ACCESS_KEY: the access key. Default: the credentials that the AWS SDK finds, such as the role of the machine.',
    ),
    s3SecretAccessKey: optionalSecret().describe('Secret of S3_ACCESS_KEY_ID.'),
  }),
} as const;
