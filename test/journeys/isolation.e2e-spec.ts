import { existsSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Installation, type Program, until } from '../support/installation.js';
import { Witness } from '../support/witness.js';

const isRoot = process.getuid?.() === 0;

/** The secrets of the installation, which only the server may read. */
function secretsOf(directory: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8').trim())
    .filter((content) => content.length >= 16 && content.length <= 512);
}

const hasUtilLinux = existsSync('/usr/bin/setpriv') && existsSync('/usr/bin/prlimit');
const TEMPORARY_DIRECTORIES = ['/tmp', '/var/tmp', '/dev/shm'].map(
  (directory) => `${directory}/headrace-left-${process.pid}`,
);

const CONNECT = `require("node:net").connect(process.argv[1])
  .on("connect", () => { console.log("connected"); process.exit(); })
  .on("error", (error) => console.log(error.code))`;

describe('isolation of agents', { timeout: 120_000 }, () => {
  let installation: Installation;
  let server: Program;
  let witness: Witness;
  let found: { own: string; everywhere: string; database: string };

  beforeAll(async () => {
    witness = new Witness();
    installation = await Installation.create({
      MAX_CONCURRENT_RUNS: '2',
      MAX_CONCURRENT_RUNS_PER_TEAM: '2',
      LEASE_TTL: '30s',
    });
    server = await installation.up();
    const victim = await installation.createRun(
      `\`\`\`sh\n${TEMPORARY_DIRECTORIES.map((path) => `mkdir -p ${path}/below; touch ${path}/below/file`).join('; ')}; touch ${witness.directory}/victim; while [ ! -e ${witness.directory}/done ]; do sleep 0.05; done\n\`\`\``,
    );
    await until(() => readdirSync(witness.directory).includes('victim'), 20_000, 'the start of the other execution');
    const spy = await installation.createRun(
      [
        '```sh',
        'umask 000',
        `exec > ${witness.directory}/own 2>&1; id -u; grep NoNewPrivs /proc/self/status; ulimit -u; env; cat /proc/self/environ; pwd; ls -laR . ; find . -type f -exec cat {} +; for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline; echo; done`,
        '```',
        '```sh',
        'umask 000',
        // On a root server the agent has a separate user. It reads all files that this user can read.
        `exec > ${witness.directory}/everywhere 2>/dev/null; cat /proc/[0-9]*/environ; cat ${installation.dataDir}/*; find ${installation.dataDir} ${installation.dataDir}/workspaces/* -type f -exec cat {} +; true`,
        '```',
        '```sh',
        'umask 000',
        `exec > ${witness.directory}/database 2>&1; node -e '${CONNECT}' "${databaseSocket()}"`,
        '```',
      ].join('\n'),
    );
    await installation.waitFor(spy, ['SUCCEEDED']);
    await installation.call('POST', `/agent/runs/${victim}/cancel`);
    const read = (name: string): string => readFileSync(join(witness.directory, name), 'latin1');
    found = { own: read('own'), everywhere: read('everywhere'), database: read('database') };
  });

  afterAll(async () => {
    await server.stop();
    installation.remove();
    witness.remove();
  });

  const databaseSocket = (): string => join(realpathSync(join(installation.dataDir, 'postgres')), '.s.PGSQL.5432');

  const secrets = (): string[] => {
    const { token, service_account_token } = installation.connection;
    return [token, service_account_token, ...secretsOf(join(installation.dataDir, 'secrets'))];
  };

  it('collects at least four secrets and the processes of an agent for the following tests', () => {
    // At least the generated key, the database password and the two tokens.
    expect(secrets().length).toBeGreaterThanOrEqual(4);
    expect(found.own).toContain('HEADRACE_RUN_ID=');
    expect(found.own).toContain('agent run');
  });

  it('exposes no secret in the environment or directory of an agent, or in arguments of processes', () => {
    for (const secret of secrets()) expect(found.own).not.toContain(secret);
    expect(found.own).not.toMatch(/hrx_\d+_/);
    expect(found.own).not.toMatch(/DATABASE_URL|SECRETS_KEY|postgres(ql)?:\/\//);
  });

  it.runIf(isRoot)('runs agents of a root server as a user without access to secrets', () => {
    expect(Number(found.own.split('\n')[0])).toBeGreaterThanOrEqual(200_000);
    for (const secret of secrets()) expect(found.everywhere).not.toContain(secret);
    expect(found.everywhere).not.toMatch(/hrx_\d+_/);
    expect(found.everywhere).not.toMatch(/DATABASE_URL=|SECRETS_KEY=/);
  });

  it.runIf(isRoot && hasUtilLinux)('limits privileges and processes of agents of a root server', () => {
    expect(found.own).toMatch(/^NoNewPrivs:\t1$/m);
    expect(found.own).toMatch(/^4096$/m);
  });

  it.runIf(isRoot)('removes files in shared temporary directories after an execution of a root server', async () => {
    await until(
      () => TEMPORARY_DIRECTORIES.every((path) => !existsSync(path)),
      20_000,
      'the removal of files in temporary directories',
    );
  });

  it.runIf(isRoot)('prevents agents of a root server from connecting to the database', () => {
    expect(statSync(databaseSocket()).isSocket()).toBe(true);
    expect(found.database.trim()).toBe('EACCES');
  });

  it.runIf(isRoot)('applies variables of an environment to no process of a root server', async () => {
    const proof = join(witness.directory, 'proof');
    const script = `import(%22node:fs%22).then(f=>f.writeFileSync(%22${proof}%22+process.getuid(),%22%22))`;
    const config = {
      name: 'sly',
      env: {
        NODE_OPTIONS: `--import=data:text/javascript,${script}`,
        LD_PRELOAD: '/nonexistent.so',
        COLOUR: 'blue',
      },
    };
    const environment = await installation.call('POST', '/environments', { config });
    expect(environment.status).toBe(201);
    const runId = await installation.createRun(
      `\`\`\`sh\numask 000; echo "$COLOUR $HOME" > ${witness.directory}/colour\n\`\`\``,
      { config: { environment_id: environment.body.uid } },
    );
    await installation.waitFor(runId, ['SUCCEEDED']);
    // The agent's commands get the environment, and nothing was run as root on the way there.
    expect(readFileSync(join(witness.directory, 'colour'), 'utf8')).toMatch(/^blue \/.*\/home\n$/);
    expect(readdirSync(witness.directory).filter((name) => name.startsWith('proof'))).not.toContain('proof0');
  });

  it('makes connection.json and the secrets directory accessible to their owner only', () => {
    expect(statSync(join(installation.dataDir, 'connection.json')).mode & 0o777).toBe(0o600);
    expect(statSync(join(installation.dataDir, 'secrets')).mode & 0o077).toBe(0);
  });
});
